# Not tried. The sha256 is that of the release's sdist; `brew update-python-resources topicx` fills in the resources.
class Topicx < Formula
  include Language::Python::Virtualenv
  desc "Topic models from text, fast, exact, and the same answer every time"
  license "MIT"
  url "https://pypi.org/packages/source/t/topicx/topicx-0.1.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  depends_on "python@3.13"
  def install
    virtualenv_install_with_resources
  end
  test do
    system bin/"topicx", "demo", "--quiet", "-o", testpath/"demo"
  end
end

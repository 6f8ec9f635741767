"""python -m topicx.cli"""

from topicx.cli import main

main()

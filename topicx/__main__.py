"""python -m topicx, and the command `topicx`."""

import signal


def main() -> None:
    """The command line. While its modules load, an interrupt ends the process as the system does: without a word."""
    quiet = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if quiet:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from topicx.library_threads import bind_threads

    bind_threads()
    from topicx.cli import main as run

    run(interruptible=quiet)


if __name__ == "__main__":
    main()

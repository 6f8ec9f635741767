# What happens when a file that is mapped into memory is cut short by another program: the system sends SIGBUS to whoever
# reads what is no longer there. Python cannot hear it (the read would be tried again for ever), so a handler in C writes
# one line and ends the process with status 1. Nothing can be saved from there; outputs have no name until they are whole.

cdef extern from *:
    """
    #include <signal.h>
    #include <string.h>
    #if !defined(_WIN32)
    #include <unistd.h>
    #endif

    static char tx_line[1024];
    static size_t tx_length;

    #ifdef SIGBUS
    static void tx_heard(int number) {
        (void)number;
        if (write(2, tx_line, tx_length) < 0) _exit(1);
        _exit(1);
    }
    #endif

    static void tx_tell_bus_errors(const char *line, size_t length) {
        tx_length = length < sizeof tx_line ? length : sizeof tx_line;
        memcpy(tx_line, line, tx_length);
    #ifdef SIGBUS
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_handler = tx_heard;
        sigemptyset(&action.sa_mask);
        sigaction(SIGBUS, &action, 0);
    #endif
    }
    """
    void tx_tell_bus_errors(const char *line, size_t length) nogil


def tell_bus_errors(bytes line):
    """From now on a bus error writes this line to standard error and ends the process with status 1."""
    tx_tell_bus_errors(line, len(line))

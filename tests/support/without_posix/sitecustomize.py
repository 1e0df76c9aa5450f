"""Makes Python lack what Windows lacks; put this folder on `PYTHONPATH`.

What the libraries use on every system but Windows is kept: `os.uname`, `os.register_at_fork`, and
the functions that wait for a process.
"""

import os
import signal
import sys
import warnings

MODULES = "resource fcntl pwd grp termios tty pty syslog readline crypt nis spwd"
OF_OS = """
getuid geteuid getgid getegid getgroups setuid setgid getpgid getpgrp setpgid getsid setsid killpg
fork forkpty posix_spawn posix_spawnp nice getpriority sched_getaffinity sched_setaffinity
sched_yield sysconf sysconf_names confstr getloadavg mkfifo mknod chown lchown fchown fchmod
statvfs fstatvfs O_NONBLOCK O_CLOEXEC O_NOFOLLOW O_DIRECTORY O_SYNC O_NOCTTY pread pwrite readv
writev sendfile lockf sync fdatasync fchdir chroot pipe2 openpty ttyname environb getenvb
set_blocking get_blocking posix_fadvise posix_fallocate memfd_create copy_file_range getxattr
"""
SIGNALS = {"SIGABRT", "SIGFPE", "SIGILL", "SIGINT", "SIGSEGV", "SIGTERM", "SIG_DFL", "SIG_IGN"}
OF_SIGNAL = "alarm setitimer getitimer pause pthread_kill pthread_sigmask sigwait siginterrupt"

sys.modules.update(dict.fromkeys(MODULES.split()))
for name in OF_OS.split():
    vars(os).pop(name, None)
for name in [*OF_SIGNAL.split(), *(name for name in dir(signal) if name.startswith("SIG"))]:
    if name not in SIGNALS:
        vars(signal).pop(name, None)
warnings.filterwarnings("ignore", message="only soft file lock")

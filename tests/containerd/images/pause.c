// The sandbox's first process: holds the pod's namespaces and reaps orphans of a shared PID namespace until it is told
// to stop. Static, so that its image is this one file.
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static void on_term(int signal_number) {
  (void)signal_number;
  _exit(0);
}

static void on_child(int signal_number) {
  (void)signal_number;
  while (waitpid(-1, NULL, WNOHANG) > 0) {
  }
}

int main(void) {
  struct sigaction term = {.sa_handler = on_term};
  struct sigaction child = {.sa_handler = on_child, .sa_flags = SA_RESTART};
  if (sigaction(SIGTERM, &term, NULL) != 0 || sigaction(SIGINT, &term, NULL) != 0 ||
      sigaction(SIGCHLD, &child, NULL) != 0)
    return 1;
  for (;;) pause();
}

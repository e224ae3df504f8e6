// hs [-f FILE] [-g SECONDS] [-b BODY] [PORT]: the tests' web server. Static, one process, one exchange at a time.
//   /status/N  answers with status N                 /delay/MS  answers after MS milliseconds
//   /bytes/N   answers with N bytes                  /redirect?URL  answers 302 with that location
//   /headers   answers with the request as it came   anything else: 200 and BODY ("hello from HOSTNAME")
// While FILE exists, everything else than /status, /delay, /bytes and /redirect answers 503, so that a test turns a
// probe bad by `touch`. SIGTERM ends it, SECONDS later with -g.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum { kRequestBytes = 16384 };

static unsigned grace_seconds = 0;
static const char* bad_file = NULL;
static char body[512];

static void on_term(int signal_number) {
  (void)signal_number;
  if (grace_seconds == 0) _exit(0);
  alarm(grace_seconds);
}

static void on_alarm(int signal_number) {
  (void)signal_number;
  _exit(0);
}

static void send_all(int peer, const char* data, size_t size) {
  while (size > 0) {
    ssize_t sent = send(peer, data, size, MSG_NOSIGNAL);
    if (sent <= 0) return;
    data += sent;
    size -= (size_t)sent;
  }
}

static void answer(int peer, int status, const char* extra, const char* text, size_t size) {
  char head[1024];
  int length =
      snprintf(head, sizeof head,
               "HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\nConnection: close\r\n%s\r\n",
               status, status < 400 ? "OK" : "Bad", size, extra);
  if (length < 0 || (size_t)length >= sizeof head) return;
  send_all(peer, head, (size_t)length);
  send_all(peer, text, size);
}

static void answer_bytes(int peer, size_t size) {
  char* text = malloc(size + 1);
  if (text == NULL) {
    answer(peer, 500, "", "", 0);
    return;
  }
  memset(text, 'x', size);
  answer(peer, 200, "", text, size);
  free(text);
}

// One exchange. `request` is the whole head of it, zero-terminated.
static void exchange(int peer, const char* request) {
  char path[768] = "/";
  struct stat unused;
  (void)sscanf(request, "%*15s %767s", path);
  if (strncmp(path, "/status/", 8) == 0) {
    answer(peer, atoi(path + 8), "", body, strlen(body));
  } else if (strncmp(path, "/delay/", 7) == 0) {
    usleep((useconds_t)atoi(path + 7) * 1000);
    answer(peer, 200, "", body, strlen(body));
  } else if (strncmp(path, "/bytes/", 7) == 0) {
    answer_bytes(peer, (size_t)atol(path + 7));
  } else if (strncmp(path, "/redirect?", 10) == 0) {
    char location[800];
    snprintf(location, sizeof location, "Location: %s\r\n", path + 10);
    answer(peer, 302, location, "", 0);
  } else if (bad_file != NULL && stat(bad_file, &unused) == 0) {
    answer(peer, 503, "", "told to fail\n", 13);
  } else if (strcmp(path, "/headers") == 0) {
    answer(peer, 200, "", request, strlen(request));
  } else {
    answer(peer, 200, "", body, strlen(body));
  }
}

static void serve(int peer) {
  char request[kRequestBytes];
  size_t have = 0;
  struct timeval patience = {.tv_sec = 5};
  (void)setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  while (have < sizeof request - 1) {
    ssize_t got = recv(peer, request + have, sizeof request - 1 - have, 0);
    if (got <= 0) break;
    have += (size_t)got;
    request[have] = '\0';
    if (strstr(request, "\r\n\r\n") != NULL) {
      exchange(peer, request);
      break;
    }
  }
  (void)shutdown(peer, SHUT_WR);
  while (recv(peer, request, sizeof request, 0) > 0) {
  }
  close(peer);
}

int main(int argc, char** argv) {
  char host[256] = "";
  int option;
  int yes = 1;
  int no = 0;
  (void)gethostname(host, sizeof host - 1);
  snprintf(body, sizeof body, "hello from %s\n", host);
  while ((option = getopt(argc, argv, "f:g:b:")) != -1) {
    if (option == 'f')
      bad_file = optarg;
    else if (option == 'g')
      grace_seconds = (unsigned)atoi(optarg);
    else if (option == 'b')
      snprintf(body, sizeof body, "%s", optarg);
    else
      return 2;
  }
  struct sigaction term = {.sa_handler = on_term, .sa_flags = SA_RESTART};
  struct sigaction timer = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
  sigaction(SIGTERM, &term, NULL);
  sigaction(SIGINT, &term, NULL);
  sigaction(SIGALRM, &timer, NULL);

  struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT};
  struct sockaddr_in address4 = {.sin_family = AF_INET};
  uint16_t port = htons((uint16_t)(optind < argc ? atoi(argv[optind]) : 80));
  address.sin6_port = port;
  address4.sin_port = port;
  int listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int bound = -1;
  if (listener >= 0) {
    (void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    (void)setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    bound = bind(listener, (struct sockaddr*)&address, sizeof address);
  }
  // A pod without IPv6 has the address family off.
  if (bound != 0) {
    if (listener >= 0) close(listener);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    bound = bind(listener, (struct sockaddr*)&address4, sizeof address4);
  }
  if (bound != 0 || listen(listener, 64) != 0) {
    perror("hs: listen");
    return 1;
  }
  printf("listening on port %u\n", (unsigned)ntohs(port));
  fflush(stdout);
  for (;;) {
    int peer = accept(listener, NULL, NULL);
    if (peer >= 0) serve(peer);
  }
}

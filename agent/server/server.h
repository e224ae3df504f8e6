// Server: the agent's HTTP interface, for any number of listeners. It has the routes and hands out one handler for each
// kind of listener; base/http's HttpServer stands in front of it:
//
//   Server server(sources);
//   HttpServer local(loop, *net.listen(Endpoint::unix_socket(path)), server.handler(kLocal), {.name = "local"});
//   local.start();
//
// It lives on the loop thread and outlives the HttpServers that use it. One for each Registry.
#pragma once

#include <map>
#include <string>

#include "agent/server/handlers.h"
#include "agent/server/routes.h"
#include "agent/server/sources.h"
#include "base/http/router.h"

namespace podwright::server {

class Server {
 public:
  // `sources` outlives the server.
  explicit Server(ServerSources& sources);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // What a listener of this kind serves.
  HttpHandler handler(Listener which);

 private:
  HttpHandler guarded(const Route& route);
  Co<HttpResponse> ask_first(Route route, HttpRequest request);
  Co<HttpResponse> serve(Listener which, HttpRequest request);

  ServerSources& sources_;
  Handlers handlers_;
  std::map<Listener, Router> routers_;
  Family<Counter>* requests_;
  Family<Histogram>* durations_;
};

}  // namespace podwright::server

// Against a real gRPC server with its own health service.
#include <doctest/doctest.h>
#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include "base/co/real_loop.h"
#include "base/http/grpc_unary.h"
#include "base/limits.h"
#include "base/net/real_net.h"

using namespace podwright;

namespace {

// HealthCheckRequest{service} on the wire.
std::string request_for(const std::string& service) {
  if (service.empty()) return {};
  return "\x0a" + std::string(1, static_cast<char>(service.size())) + service;
}

Co<void> ask(RealLoop& loop, uint16_t port, std::vector<absl::StatusOr<std::string>>* answers) {
  RealNet net(loop);
  const Instant deadline = after(loop.now(), 20s);
  auto stream = co_await net.dial(Endpoint::tcp("127.0.0.1", port), deadline);
  if (stream.ok()) {
    Http2Connection connection(loop, *std::move(stream));
    connection.start();
    for (const char* service : {"", "unknown"}) {
      GrpcUnaryCall call{fmt::format("127.0.0.1:{}", port),
                         "/grpc.health.v1.Health/Check",
                         request_for(service),
                         {},
                         limits::kGrpcHealthBytes};
      answers->push_back(co_await grpc_unary(loop, connection, std::move(call), deadline));
    }
    co_await connection.close();
  }
  loop.stop();
}

}  // namespace

TEST_CASE("a real gRPC server answers a health check") {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  // A server needs some service of its own.
  grpc::CallbackGenericService nothing;
  builder.RegisterCallbackGenericService(&nothing);
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  REQUIRE(server);
  RealLoop loop;
  Scope scope(loop);
  std::vector<absl::StatusOr<std::string>> answers;

  scope.spawn("ask", ask(loop, static_cast<uint16_t>(port), &answers));
  loop.run();
  server->Shutdown();

  REQUIRE(answers.size() == 2);
  CHECK(answers[0].value_or("") == "\x08\x01");  // SERVING
  CHECK(absl::IsNotFound(answers[1].status()));
}

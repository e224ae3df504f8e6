// A Net inside the process, for unit tests and the simulation: hosts and ports are a script, streams are buffers, and
// on a SimLoop everything is deterministic. What listens through listen() can be dialled too. An endpoint that nobody
// serves refuses.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/co/scope.h"
#include "base/net/net.h"

namespace podwright {

class MemoryNet final : public Net {
 public:
  // Serves one connection; a coroutine that outlives nothing it refers to.
  using Handler = std::function<Co<void>(std::unique_ptr<Stream>)>;

  explicit MemoryNet(Loop& loop);
  ~MemoryNet() override;

  // Each connection to the endpoint ("10.0.0.1:80", "unix:/x.sock") runs `handler` as a flow.
  void serve(const std::string& endpoint, Handler handler);
  void refuse(const std::string& endpoint);
  // Dials hang until their deadline.
  void black_hole(const std::string& endpoint);
  // Each dial takes this long before what the endpoint does otherwise.
  void delay(const std::string& endpoint, Duration time);
  void name(const std::string& name, std::vector<std::string> addresses);

  // How often the endpoint was dialled, and how many streams to it were closed with a reset asked for.
  uint64_t dials(const std::string& endpoint) const;
  uint64_t resets(const std::string& endpoint) const;

  Co<absl::StatusOr<std::unique_ptr<Stream>>> dial(Endpoint to, Instant deadline) override;
  Co<absl::StatusOr<std::vector<std::string>>> resolve(std::string name, Instant deadline) override;
  absl::StatusOr<std::unique_ptr<Listener>> listen(const Endpoint& at, mode_t mode) override;

  // Ends the handlers that run.
  Co<void> close() { return scope_.close(); }

 private:
  struct Place;
  Co<absl::StatusOr<std::unique_ptr<Stream>>> dial_one(Endpoint to, Instant deadline);
  Place& place(const std::string& endpoint);

  Loop& loop_;
  std::map<std::string, std::shared_ptr<Place>> places_;
  std::map<std::string, std::vector<std::string>> names_;
  uint16_t next_port_ = 40000;
  Scope scope_;
};

// Two connected in-memory streams.
std::pair<std::unique_ptr<Stream>, std::unique_ptr<Stream>> memory_pair(Loop& loop);

}  // namespace podwright

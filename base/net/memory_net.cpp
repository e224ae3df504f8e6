#include "base/net/memory_net.h"

#include <deque>

#include "base/co/bell.h"
#include "base/limits.h"
#include "base/net/errors.h"
#include "base/status/annotate.h"

namespace podwright {

namespace {

// One direction of a connection.
struct Pipe {
  explicit Pipe(Loop& loop) : readable(loop), writable(loop) {}
  std::string bytes;
  bool ended = false;        // no more will be written
  bool reset = false;        // the writer died with a reset
  bool reader_gone = false;  // writes fail
  Bell readable;
  Bell writable;
};

absl::Status wait_error(Wait wait, std::string_view what) {
  if (wait == Wait::kCancelled) return absl::CancelledError(fmt::format("{}: stopped", what));
  return absl::DeadlineExceededError(fmt::format("{}: i/o timeout", what));
}

class MemoryStream final : public Stream {
 public:
  MemoryStream(std::shared_ptr<Pipe> in, std::shared_ptr<Pipe> out, std::shared_ptr<uint64_t> resets)
      : in_(std::move(in)), out_(std::move(out)), resets_(std::move(resets)) {}

  ~MemoryStream() override {
    in_->reader_gone = true;
    in_->writable.ring();
    out_->reset = out_->reset || linger_reset_;
    out_->ended = true;
    out_->readable.ring();
    if (linger_reset_ && resets_) ++*resets_;
  }

  Co<absl::StatusOr<std::string>> read_some(std::size_t limit, Instant deadline) override {
    const auto in = in_;
    while (in->bytes.empty()) {
      if (in->reset) co_return absl::UnavailableError("read: connection reset by peer");
      if (in->ended) co_return std::string();
      const Wait wait = co_await in->readable.wait_until(deadline);
      if (wait != Wait::kRung) co_return wait_error(wait, "read");
    }
    std::string got = in->bytes.substr(0, std::min(limit, limits::kStreamReadBytes));
    in->bytes.erase(0, got.size());
    in->writable.ring();
    co_return got;
  }

  Co<absl::Status> write_all(std::string bytes, Instant deadline) override {
    const auto out = out_;
    std::size_t done = 0;
    while (done < bytes.size()) {
      if (out->reader_gone) co_return absl::UnavailableError("write: broken pipe");
      if (out->ended) co_return absl::UnavailableError("write: broken pipe");
      const std::size_t room = kRoom - std::min(kRoom, out->bytes.size());
      if (room == 0) {
        const Wait wait = co_await out->writable.wait_until(deadline);
        if (wait != Wait::kRung) co_return wait_error(wait, "write");
        continue;
      }
      out->bytes += std::string_view(bytes).substr(done, room);
      done += std::min(room, bytes.size() - done);
      out->readable.ring();
    }
    co_return absl::OkStatus();
  }

  absl::Status shutdown_write() override {
    out_->ended = true;
    out_->readable.ring();
    return absl::OkStatus();
  }

  void set_linger_reset() override { linger_reset_ = true; }

 private:
  // What a socket's buffers hold, about.
  static constexpr std::size_t kRoom = 64 << 10;
  std::shared_ptr<Pipe> in_;
  std::shared_ptr<Pipe> out_;
  std::shared_ptr<uint64_t> resets_;
  bool linger_reset_ = false;
};

std::pair<std::unique_ptr<Stream>, std::unique_ptr<Stream>> make_pair_of(Loop& loop, std::shared_ptr<uint64_t> resets) {
  const auto there = std::make_shared<Pipe>(loop);
  const auto back = std::make_shared<Pipe>(loop);
  return {std::make_unique<MemoryStream>(back, there, std::move(resets)),
          std::make_unique<MemoryStream>(there, back, nullptr)};
}

struct Backlog {
  explicit Backlog(Loop& loop) : came(loop) {}
  std::deque<std::unique_ptr<Stream>> streams;
  Bell came;
};

class MemoryListener final : public Listener {
 public:
  MemoryListener(std::shared_ptr<Backlog> backlog, Endpoint local)
      : backlog_(std::move(backlog)), local_(std::move(local)) {}

  Co<absl::StatusOr<std::unique_ptr<Stream>>> accept() override {
    const auto backlog = backlog_;
    while (backlog->streams.empty()) {
      const Wait wait = co_await backlog->came.wait_until(Instant::max());
      if (wait != Wait::kRung) co_return absl::CancelledError("accept: stopped");
    }
    auto stream = std::move(backlog->streams.front());
    backlog->streams.pop_front();
    co_return stream;
  }

  Endpoint local() const override { return local_; }

 private:
  std::shared_ptr<Backlog> backlog_;
  Endpoint local_;
};

}  // namespace

struct MemoryNet::Place {
  Handler handler;
  std::weak_ptr<Backlog> backlog;
  bool black_hole = false;
  Duration delay{0};
  uint64_t dials = 0;
  std::shared_ptr<uint64_t> resets = std::make_shared<uint64_t>(0);
};

MemoryNet::MemoryNet(Loop& loop) : loop_(loop), scope_(loop) {}
MemoryNet::~MemoryNet() = default;

MemoryNet::Place& MemoryNet::place(const std::string& endpoint) {
  auto& place = places_[endpoint];
  if (!place) place = std::make_shared<Place>();
  return *place;
}

void MemoryNet::serve(const std::string& endpoint, Handler handler) {
  place(endpoint).handler = std::move(handler);
  place(endpoint).black_hole = false;
}

void MemoryNet::refuse(const std::string& endpoint) {
  place(endpoint).handler = nullptr;
  place(endpoint).black_hole = false;
}

void MemoryNet::black_hole(const std::string& endpoint) {
  place(endpoint).black_hole = true;
}

void MemoryNet::delay(const std::string& endpoint, Duration time) {
  place(endpoint).delay = time;
}

void MemoryNet::name(const std::string& name, std::vector<std::string> addresses) {
  names_[name] = std::move(addresses);
}

uint64_t MemoryNet::dials(const std::string& endpoint) const {
  const auto found = places_.find(endpoint);
  return found == places_.end() ? 0 : found->second->dials;
}

uint64_t MemoryNet::resets(const std::string& endpoint) const {
  const auto found = places_.find(endpoint);
  return found == places_.end() ? 0 : *found->second->resets;
}

Co<absl::StatusOr<std::vector<std::string>>> MemoryNet::resolve(std::string name, Instant deadline) {
  if (co_await is_stopping()) co_return absl::CancelledError(fmt::format("lookup {}: stopped", name));
  if (deadline <= loop_.now()) co_return absl::DeadlineExceededError(fmt::format("lookup {}: i/o timeout", name));
  if (is_address(name)) co_return std::vector<std::string>{name};
  const auto found = names_.find(name);
  if (found == names_.end() || found->second.empty()) {
    co_return absl::NotFoundError(fmt::format("lookup {}: Domain name not found", name));
  }
  co_return found->second;
}

Co<absl::StatusOr<std::unique_ptr<Stream>>> MemoryNet::dial_one(Endpoint to, Instant deadline) {
  const std::string endpoint = to.text();
  ++place(endpoint).dials;
  const Instant until = place(endpoint).black_hole ? deadline : after(loop_.now(), place(endpoint).delay);
  if (until > loop_.now() || deadline <= loop_.now()) {
    const Wait wait = co_await sleep_until(loop_, std::min(until, deadline));
    if (wait == Wait::kCancelled) co_return absl::CancelledError(dial_words(to, "stopped"));
    if (place(endpoint).black_hole || loop_.now() >= deadline) co_return dial_late(to);
  }
  if (co_await is_stopping()) co_return absl::CancelledError(dial_words(to, "stopped"));
  Place& at = place(endpoint);
  const auto backlog = at.backlog.lock();
  if (!backlog && !at.handler) co_return dial_refused(to);
  auto [ours, theirs] = make_pair_of(loop_, at.resets);
  if (backlog) {
    backlog->streams.push_back(std::move(theirs));
    backlog->came.ring();
  } else {
    scope_.spawn("serve " + endpoint, at.handler(std::move(theirs)));
  }
  co_return std::move(ours);
}

Co<absl::StatusOr<std::unique_ptr<Stream>>> MemoryNet::dial(Endpoint to, Instant deadline) {
  if (!to.unix_path.empty() || is_address(to.host)) co_return co_await dial_one(to, deadline);
  const auto addresses = co_await resolve(to.host, deadline);
  if (!addresses.ok()) co_return annotate(addresses.status(), "dial tcp");
  absl::Status last = absl::NotFoundError(dial_words(to, "no address"));
  for (const std::string& address : *addresses) {
    const Endpoint one = Endpoint::tcp(address, to.port);
    auto stream = co_await dial_one(one, deadline);
    if (stream.ok() || absl::IsCancelled(stream.status())) co_return stream;
    last = stream.status();
  }
  co_return last;
}

absl::StatusOr<std::unique_ptr<Listener>> MemoryNet::listen(const Endpoint& asked, mode_t) {
  Endpoint at = asked;
  if (at.unix_path.empty() && at.host == "localhost") at.host = "127.0.0.1";
  if (at.unix_path.empty() && at.port == 0) at.port = next_port_++;
  Place& here = place(at.text());
  if (!here.backlog.expired()) return errno_status(EADDRINUSE, "bind " + at.text());
  const auto backlog = std::make_shared<Backlog>(loop_);
  here.backlog = backlog;
  return std::unique_ptr<Listener>(std::make_unique<MemoryListener>(backlog, at));
}

std::pair<std::unique_ptr<Stream>, std::unique_ptr<Stream>> memory_pair(Loop& loop) {
  return make_pair_of(loop, nullptr);
}

}  // namespace podwright

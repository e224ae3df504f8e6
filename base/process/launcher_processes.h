// Processes by the launcher (base/process/launcher.h). Loop thread only. When this dies, or the agent, all children
// die.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <deque>
#include <map>
#include <memory>
#include <set>

#include "base/co/real_loop.h"
#include "base/process/launcher.h"
#include "base/process/launcher_protocol.h"
#include "base/process/processes.h"

namespace podwright {

class LauncherProcesses final : public Processes {
 public:
  LauncherProcesses(RealLoop& loop, Launcher launcher);
  ~LauncherProcesses() override;

  // As the port says; besides:
  // ResourceExhausted where a stream went beyond the limit (the child is killed), InvalidArgument for text with a NUL,
  // the errno's code where the program cannot be executed, Unavailable where the launcher has ended.
  Co<absl::StatusOr<ProcessResult>> run(ProcessRequest request, Instant deadline) override;
  std::size_t left_behind() const override { return left_.size(); }

 private:
  struct Child;
  struct Packet {
    launcher::Order order;
    std::vector<Descriptor> descriptors;
  };

  absl::StatusOr<std::shared_ptr<Child>> begin(const ProcessRequest& request);
  Co<void> end(std::shared_ptr<Child> child);
  void give(Packet packet);
  // Sends what waits in the queue, as far as the socket takes it.
  void flush();
  void wait_for_news();
  void read_news();
  void lose_launcher();
  void pump(std::shared_ptr<Child> child, bool is_stdout);

  RealLoop& loop_;
  boost::asio::posix::stream_descriptor socket_;
  std::deque<Packet> queue_;
  bool waits_to_send_ = false;
  bool lost_ = false;
  uint64_t next_id_ = 1;
  std::map<uint64_t, std::shared_ptr<Child>> children_;
  std::set<uint64_t> left_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace podwright

// podwright: the node agent, and the person's side of it in the same binary.
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "agent/cli/cli.h"
#include "agent/config/load.h"
#include "agent/offline.h"
#include "agent/run.h"
#include "base/co/real_loop.h"
#include "base/files/real_tree.h"
#include "base/log/log.h"
#include "base/process/launcher.h"
#include "base/status/annotate.h"

namespace {

using namespace podwright;

constexpr int kExitConfiguration = 2;

std::string base_name(const char* path) {
  const std::string text = path == nullptr ? "podwright" : path;
  return file_name(text);
}

int run(const std::vector<std::string>& arguments, const std::string& called_as, Launcher launcher) {
  RealLoop loop;
  RealTree tree(loop);
  auto loaded = config::load_config(arguments, called_as, tree, look_at_host(tree));
  if (!loaded.ok()) {
    std::fprintf(stderr, "%s\n", text_of(loaded.status()).c_str());
    return kExitConfiguration;
  }
  if (!loaded->config) {
    std::fputs(loaded->text.c_str(), stdout);
    if (loaded->is_help) std::fputs(("\n" + cli::commands_help()).c_str(), stdout);
    return 0;
  }
  return run_agent(*std::move(loaded), loop, tree, std::move(launcher));
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (cli::is_command_line(arguments)) {
    return cli::cli_main(arguments, podwright::offline_functions());
  }
  // The launcher is forked before anything else: before any thread, and before gRPC.
  auto launcher = podwright::Launcher::start();
  if (!launcher.ok()) {
    std::fprintf(stderr, "could not start the launcher: %s\n", podwright::text_of(launcher.status()).c_str());
    return 1;
  }
  // A large node has many threads' worth of arenas otherwise.
  mallopt(M_ARENA_MAX, 2);
  return run(arguments, base_name(argv[0]), *std::move(launcher));
}

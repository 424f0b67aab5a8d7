// Stop signals for the builds of corpora.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "peer/platform/stop_signals.hpp"

namespace dedloc::cli {

/// Ends the process at a stop signal. What the build has written by then counts, so it needs no
/// notice; training a tokenizer could not give one.
class EndAtSignal final {
  public:
    EndAtSignal() : watcher_([this](const std::stop_token& done) { watch(done); }) {}

  private:
    void watch(const std::stop_token& done) const {
        while (!done.stop_requested()) {
            if (!signals_.wait(std::chrono::milliseconds{100})) continue;
            std::fputs("\ndedloc: stopped; the same command goes on from the last shard\n", stderr);
            std::_Exit(128 + (signals_.is_interrupted() ? SIGINT : SIGTERM));
        }
    }

    const platform::StopSignals signals_;
    const std::jthread watcher_;  // last: it uses the signals
};

}  // namespace dedloc::cli

// A full disk for a test of one process.
#pragma once

#include <signal.h>
#include <sys/resource.h>

#include "peer/base/check.hpp"

namespace dedloc {

/// Limits the size of files that this process writes: larger writes fail as on a full disk.
class FileSizeLimit {
  public:
    explicit FileSizeLimit(rlim_t bytes) {
        former_handler_ = signal(SIGXFSZ, SIG_IGN);
        DEDLOC_CHECK(getrlimit(RLIMIT_FSIZE, &former_) == 0, "a process may read its limits");
        const rlimit limit{.rlim_cur = bytes, .rlim_max = former_.rlim_max};
        DEDLOC_CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0, "a process may lower its limits");
    }
    ~FileSizeLimit() {
        setrlimit(RLIMIT_FSIZE, &former_);
        signal(SIGXFSZ, former_handler_);
    }
    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;

  private:
    rlimit former_{};
    void (*former_handler_)(int) = SIG_DFL;
};

}  // namespace dedloc

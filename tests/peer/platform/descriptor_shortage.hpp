// Makes descriptors scarce in this process.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <vector>

namespace dedloc {

/// Sets the soft limit on open files for its lifetime.
class SoftLimit {
  public:
    explicit SoftLimit(rlim_t descriptors) {
        REQUIRE(getrlimit(RLIMIT_NOFILE, &former_) == 0);
        REQUIRE(descriptors <= former_.rlim_max);
        rlimit limits = former_;
        limits.rlim_cur = descriptors;
        REQUIRE(setrlimit(RLIMIT_NOFILE, &limits) == 0);
    }
    ~SoftLimit() { setrlimit(RLIMIT_NOFILE, &former_); }
    SoftLimit(const SoftLimit&) = delete;
    SoftLimit& operator=(const SoftLimit&) = delete;
    rlim_t hard() const { return former_.rlim_max; }

  private:
    rlimit former_{};
};

/// Uses up all descriptors of this process except `spare`.
class DescriptorShortage {
  public:
    explicit DescriptorShortage(std::size_t spare) : limit_(256) {
        for (int taken = dup(0); taken >= 0; taken = dup(0)) taken_.push_back(taken);
        REQUIRE(taken_.size() >= spare);
        for (; spare > 0; --spare) {
            ::close(taken_.back());
            taken_.pop_back();
        }
    }
    ~DescriptorShortage() {
        for (const int taken : taken_) ::close(taken);
    }
    DescriptorShortage(const DescriptorShortage&) = delete;
    DescriptorShortage& operator=(const DescriptorShortage&) = delete;

  private:
    SoftLimit limit_;
    std::vector<int> taken_;
};

}  // namespace dedloc

#include "tests/peer/platform/file_calls.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

namespace dedloc {
namespace {

std::vector<std::string>& calls() {
    static std::vector<std::string> all;
    return all;
}

void record_sync(int descriptor) {
    std::error_code error;
    const auto path =
        std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), error);
    calls().push_back("sync " + path.string());
}

}  // namespace

std::vector<std::string> take_file_calls() {
    return std::exchange(calls(), {});
}

}  // namespace dedloc

// Definitions in the program take precedence over those of the C library.
extern "C" int fsync(int descriptor) {
    dedloc::record_sync(descriptor);
    static const auto next = reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "fsync"));
    return next(descriptor);
}

extern "C" int fdatasync(int descriptor) {
    dedloc::record_sync(descriptor);
    static const auto next = reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "fdatasync"));
    return next(descriptor);
}

extern "C" int rename(const char* from, const char* to) noexcept {
    dedloc::calls().push_back(std::string("rename ") + from + " " + to);
    static const auto next =
        reinterpret_cast<int (*)(const char*, const char*)>(dlsym(RTLD_NEXT, "rename"));
    return next(from, to);
}

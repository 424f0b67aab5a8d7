// Close is called once for each descriptor, also if it fails: Linux has freed the number by then,
// and another thread may have it. Errno is restored, so that the error before is the one to report.
#include "peer/platform/descriptor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "peer/base/error.hpp"

namespace dedloc::platform {

Descriptor::Descriptor(Descriptor&& other) noexcept : id_(other.release()) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
    if (this == &other) return *this;
    close();
    id_ = other.release();
    return *this;
}

Descriptor::~Descriptor() {
    close();
}

int Descriptor::release() {
    return std::exchange(id_, -1);
}

int Descriptor::close() {
    if (id_ < 0) return 0;
    const int before = errno;
    const int code = ::close(release()) == 0 ? 0 : errno;
    errno = before;
    return code;
}

Pipe make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        throw IoError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    }
    return {.reader = Descriptor{ends[0]}, .writer = Descriptor{ends[1]}};
}

}  // namespace dedloc::platform

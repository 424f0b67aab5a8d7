#include "peer/platform/descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <string>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/platform/posix_calls.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::platform {
namespace {

bool is_open(int id) {
    return ::fcntl(id, F_GETFD) >= 0;
}

}  // namespace

TEST_CASE("a descriptor is closed once, by its last owner", "[platform]") {
    int id = -1;
    {
        Descriptor first{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
        REQUIRE(first);
        id = first.id();
        Descriptor second{std::move(first)};
        CHECK_FALSE(first);  // NOLINT(bugprone-use-after-move): it owns nothing
        Descriptor third;
        third = std::move(second);
        CHECK(third.id() == id);
        CHECK(is_open(id));
    }
    CHECK_FALSE(is_open(id));
}

TEST_CASE("a descriptor that is replaced or closed early is closed", "[platform]") {
    Descriptor first{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    const int id = first.id();
    first = Descriptor{};
    CHECK_FALSE(is_open(id));
    Descriptor second{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    CHECK(second.close() == 0);
    CHECK_FALSE(second);
    CHECK(second.close() == 0);
    Descriptor third{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    const int released = third.release();
    CHECK_FALSE(third);
    CHECK(is_open(released));
    ::close(released);
}

TEST_CASE("closing a descriptor keeps errno", "[platform]") {
    errno = ENOENT;
    {
        const Descriptor nothing{-1};
        const Descriptor invalid{1'000'000};
    }
    CHECK(errno == ENOENT);
    CHECK(Descriptor{1'000'000}.close() == EBADF);
    CHECK(errno == ENOENT);
}

TEST_CASE("a file that cannot be opened is named with the reason", "[platform]") {
    const TemporaryDirectory folder;
    CHECK_FALSE(try_open(folder.path() / "none", O_RDONLY));
    CHECK(errno == ENOENT);
    CHECK_THROWS_WITH(open_to("read", "/nowhere/file", O_RDONLY),
                      "cannot read /nowhere/file: No such file or directory");
    const Descriptor file = open_to("write", folder.path() / "new", O_WRONLY | O_CREAT, 0600);
    CHECK((::fcntl(file.id(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("a pipe ends when its writer is closed", "[platform]") {
    Pipe pipe = make_pipe();
    REQUIRE(::write(pipe.writer.id(), "ab", 2) == 2);
    pipe.writer.close();
    std::string text(3, '?');
    CHECK(::read(pipe.reader.id(), text.data(), text.size()) == 2);
    CHECK(::read(pipe.reader.id(), text.data(), text.size()) == 0);
}

}  // namespace dedloc::platform

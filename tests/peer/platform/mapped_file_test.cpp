#include "peer/platform/mapped_file.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::platform {
namespace {

TEST_CASE("a mapped file has the bytes of the file, also after its pages were dropped",
          "[platform]") {
    const TemporaryDirectory folder;
    const auto path = folder.path() / "file";
    Buffer bytes(1'000'003);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i % 251);
    replace_file(path, bytes);
    const MappedFile file{path};
    CHECK(std::ranges::equal(file.bytes(), bytes));
    file.forget_pages();
    CHECK(std::ranges::equal(file.bytes(), bytes));
    replace_file(path, "a file of the same name");
    CHECK(std::ranges::equal(file.bytes(), bytes));
    replace_file(path, "");
    CHECK(MappedFile{path}.bytes().empty());
}

TEST_CASE("a file that cannot be mapped is one sentence", "[platform]") {
    const TemporaryDirectory folder;
    CHECK_THROWS_AS(MappedFile{folder.path() / "none"}, InputError);
    CHECK_THROWS_WITH(MappedFile{folder.path()}, Catch::Contains("Is a directory"));
}

TEST_CASE("reading beyond the end of a file that was truncated ends the process", "[platform]") {
    const TemporaryDirectory folder;
    const auto path = folder.path() / "file";
    replace_file(path, std::string(100'000, 'x'));
    const pid_t child = fork();
    if (child == 0) {
        std::signal(SIGBUS, SIG_DFL);
        const MappedFile file{path};
        if (::truncate(path.c_str(), 10) != 0) ::_exit(1);
        const volatile std::byte last = file.bytes().back();
        ::_exit(last == std::byte{'x'} ? 2 : 3);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGBUS);
}

}  // namespace
}  // namespace dedloc::platform

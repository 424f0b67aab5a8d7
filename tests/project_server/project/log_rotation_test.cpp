// Logs are rotated while their programs write.
#include "project_server/project/log_rotation.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "peer/platform/files.hpp"
#include "peer/platform/process.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::project {
namespace {

using namespace std::chrono_literals;

constexpr LogLimits kSmall{.bytes = 64 << 10, .parts = 1'000};

/// All parts of a log, the oldest first.
std::string whole_log(const std::filesystem::path& log, int parts) {
    std::string text;
    for (int number = parts; number >= 0; --number) {
        const std::filesystem::path part =
            number == 0 ? log : std::filesystem::path{log.string() + "." + std::to_string(number)};
        if (std::filesystem::exists(part)) text += platform::read_text(part);
    }
    return text;
}

std::string numbered_lines(int count) {
    std::string text;
    for (int i = 1; i <= count; ++i) text += std::to_string(i) + '\n';
    return text;
}

/// Whether this file system can cut off the front of a file. Else a rotation in place may lose a
/// line.
bool can_cut_front(const std::filesystem::path& folder) {
    const auto path = folder / "probe";
    platform::replace_file(path, std::string(3 * 65'536, 'x'));
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    const bool is_cut = fallocate(file, FALLOC_FL_COLLAPSE_RANGE, 0, 65'536) == 0;
    close(file);
    if (!is_cut) WARN("not tested: this file system cannot cut off the front of a file");
    return is_cut;
}

/// A program that appends the lines 1, 2, 3 … to a log as fast as it can.
class Writer {
  public:
    explicit Writer(const std::filesystem::path& log)
        : stop_(log.string() + ".stop"),
          process_(platform::spawn(
              {"sh", "-c",
               "i=0; while [ ! -e '" + stop_.string() +
                   "' ]; do i=$((i+1)); echo $i; done; echo $i >'" + stop_.string() + "'"},
              {.output = log})) {}
    /// Stops it. Returns the number of lines that it has written.
    int finish() {
        platform::replace_file(stop_, "");
        CHECK(platform::wait_for_child(process_) == 0);
        return std::stoi(platform::read_text(stop_));
    }

  private:
    const std::filesystem::path stop_;
    const pid_t process_;
};

TEST_CASE("a log that is small or absent is not rotated", "[server]") {
    const TemporaryDirectory folder;
    const auto log = folder.path() / "a.log";
    CHECK_FALSE(rotate_in_place(log, kSmall));
    CHECK_FALSE(rotate_by_renaming(log, kSmall, [] { FAIL(); }));
    platform::replace_file(log, "line\n");
    CHECK_FALSE(rotate_in_place(log, kSmall));
    CHECK_FALSE(rotate_by_renaming(log, kSmall, [] { FAIL(); }));
    CHECK(platform::read_text(log) == "line\n");
}

TEST_CASE("a log rotated in place loses no byte while its program writes",
          "[server][integration]") {
    const TemporaryDirectory folder;
    if (!can_cut_front(folder.path())) return;
    const auto log = folder.path() / "a.log";
    Writer writer{log};
    int rotations = 0;
    while (rotations < 20) rotations += rotate_in_place(log, kSmall) ? 1 : 0;
    const int lines = writer.finish();
    CHECK((whole_log(log, rotations) == numbered_lines(lines)));
}

TEST_CASE("old parts are limited in number", "[server]") {
    const TemporaryDirectory folder;
    const auto log = folder.path() / "a.log";
    const LogLimits limits{.bytes = 8'192, .parts = 2};
    for (const char letter : {'a', 'b', 'c', 'd'}) {
        std::ofstream{log, std::ios::app} << std::string(10'000, letter);
        CHECK(rotate_in_place(log, limits));
    }
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
        CHECK(entry.file_size() <= 10'000 + 4'096);
        ++files;
    }
    CHECK(files == 3);
    CHECK(platform::read_text(log.string() + ".1").find('a') == std::string::npos);
}

TEST_CASE("kill -9 during a rotation loses no line", "[server][integration]") {
    const TemporaryDirectory folder;
    if (!can_cut_front(folder.path())) return;
    const auto log = folder.path() / "a.log";
    Writer writer{log};
    for (int kills = 0; kills < 60; ++kills) {
        const pid_t rotator = fork();
        if (rotator == 0) {
            try {
                for (;;) rotate_in_place(log, kSmall);
            } catch (const std::exception&) {
                _exit(1);
            }
        }
        std::this_thread::sleep_for(std::chrono::microseconds{997 * (kills % 20 + 1)});
        kill(rotator, SIGKILL);
        int status = 0;
        waitpid(rotator, &status, 0);
        CHECK(WIFSIGNALED(status));
    }
    const int count = writer.finish();
    // Lines may be there twice, and be cut where parts meet twice.
    std::istringstream text{whole_log(log, 1'000)};
    std::set<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.insert(line);
    int lost = 0;
    for (int i = 1; i <= count; ++i) lost += lines.contains(std::to_string(i)) ? 0 : 1;
    CHECK(lost == 0);
}

TEST_CASE("a log that its program opens again is renamed", "[server]") {
    const TemporaryDirectory folder;
    const auto log = folder.path() / "access.log";
    platform::replace_file(log, std::string(100'000, 'x'));
    int reopened = 0;
    CHECK(rotate_by_renaming(log, kSmall, [&] { ++reopened; }));
    CHECK(reopened == 1);
    CHECK_FALSE(std::filesystem::exists(log));
    CHECK(std::filesystem::file_size(log.string() + ".1") == 100'000);
}

}  // namespace
}  // namespace dedloc::project

// The lines that the tool prints.
#include "peer/tool/step_log.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "tests/temporary_directory.hpp"

namespace dedloc::tool {
namespace {

/// Sends the standard output to a file while it lives.
class OutputTo {
  public:
    explicit OutputTo(const std::filesystem::path& path) : saved_(::dup(STDOUT_FILENO)) {
        std::fflush(stdout);
        std::FILE* const file = std::fopen(path.c_str(), "w");
        REQUIRE(file != nullptr);
        ::dup2(::fileno(file), STDOUT_FILENO);
        std::fclose(file);
    }
    ~OutputTo() {
        std::fflush(stdout);
        ::dup2(saved_, STDOUT_FILENO);
        ::close(saved_);
    }
    OutputTo(const OutputTo&) = delete;
    OutputTo& operator=(const OutputTo&) = delete;

  private:
    const int saved_;
};

TEST_CASE("an update that the trainer ends after the stay has no line", "[tool]") {
    const TemporaryDirectory folder;
    const std::filesystem::path file = folder.path() / "out";
    RoundWatch watch{Codec::kFp32};
    StepLogOptions options;
    options.computing = [] { return ComputingTime{}; };
    StepLog log{watch, options};
    {
        const OutputTo output{file};
        log.reached({StepIndex{1}, Digest{}});
        log.print_end("stopped");
        log.reached({StepIndex{2}, Digest{}});
    }
    std::vector<std::string> lines;
    std::ifstream input{file};
    for (std::string line; std::getline(input, line);) lines.push_back(line);
    REQUIRE(lines.size() == 2);
    CHECK_THAT(lines[0], Catch::Contains("\"event\":\"step\""));
    CHECK_THAT(lines[1], Catch::Contains("\"event\":\"end\"") && Catch::Contains("\"step\":1,"));
}

}  // namespace
}  // namespace dedloc::tool

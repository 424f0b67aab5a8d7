// Modules that an author brings by mistake or by malice: each ends in one sentence, in little time
// and memory, and the process goes on.
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>

#include "boinc_app/module/script_module.hpp"
#include "boinc_app/training/device_error.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/base/error.hpp"
#include "tests/boinc_app/module/fixtures.hpp"

namespace dedloc::training::module {
namespace {

using Catch::Matchers::Contains;

/// Small enough for a test: 64 MB and 100,000 operators.
constexpr Bounds kTight{.bytes = 64'000'000, .operators = 100'000};

void load(const std::string& name) {
    const Buffer file = test::module_fixture(name + ".pt");
    REQUIRE_FALSE(file.empty());
    const ScriptModule loaded{file, kTight};
}

void compute(const std::string& name, std::uint64_t samples = 1) {
    test::BoundModule bound{name + ".pt", kTight};
    bound.loaded.add_gradient(test::ones(samples), bound.sum, {});
}

TEST_CASE("a module with an operator that is not allowed is refused by its name", "[module]") {
    CHECK_THROWS_WITH(load("random"), "the module's operator aten::rand_like is not allowed");
    CHECK_THROWS_WITH(load("reads_file"), "the module's operator aten::from_file is not allowed");
    CHECK_THROWS_WITH(load("writes_file"), "the module's operator aten::save is not allowed");
    CHECK_FALSE(std::filesystem::exists("/tmp/written_by_a_module"));
}

TEST_CASE("a module that keeps state or writes to its operands is refused", "[module]") {
    CHECK_THROWS_WITH(load("writes_in_place"), "the module's operator aten::add_ is not allowed");
    CHECK_THROWS_WITH(load("list_attribute"),
                      "the module appends to a list that forward has not made");
    CHECK_THROWS_WITH(load("sets_state"), Contains("__setstate__, which would run"));
    CHECK_THROWS_WITH(load("writes_buffer"), "the module's operator aten::add_ is not allowed");
    CHECK_THROWS_WITH(compute("writes_running_mean", 2), Contains("writes to its buffer 'mean'"));
}

TEST_CASE("a module's lists and texts cannot grow without bound", "[module]") {
    CHECK_THROWS_WITH(load("long_list"),
                      "the module makes a list by aten::mul, which is not "
                      "allowed");
    CHECK_THROWS_WITH(load("doubling_list"), Contains("makes a list by aten::add"));
    CHECK_THROWS_WITH(load("long_text"),
                      "the module makes a text by aten::add, which is not "
                      "allowed");
}

TEST_CASE("an endless loop ends at the bound of operators, or when it is interrupted", "[module]") {
    set_compute_threads(1);
    for (const std::string name : {"endless_loop", "endless_operators"}) {
        INFO(name);
        CHECK_THROWS_WITH(compute(name), Contains("runs more than 100000 operators"));
        test::BoundModule bound{name + ".pt", kTight};
        std::uint64_t calls = 0;
        const IsInterrupted after_some = [&calls] { return ++calls == 1'000; };
        CHECK_FALSE(bound.loaded.add_gradient(test::ones(1), bound.sum, after_some));
        CHECK(calls == 1'000);
    }
}

TEST_CASE("a module gets no more memory than the bound", "[module]") {
    set_compute_threads(1);
    CHECK_THROWS_WITH(compute("huge_tensor"), Contains("wants 100000000000 bytes more"));
    CHECK_THROWS_WITH(compute("many_tensors"), Contains("64000000 are allowed"));
    CHECK_THROWS_WITH(compute("endless_sum"),
                      Contains("reads a tensor of 1000000000000000 elements"));
    // Several samples may be too many for the machine: the trainer halves the micro-batch.
    CHECK_THROWS_AS(compute("huge_tensor", 2), DeviceError);
    // Whatever the passes had is free again.
    for (int time = 0; time < 3; ++time) {
        CHECK_THROWS_WITH(compute("many_tensors"), Contains("64000000 are allowed"));
    }
}

TEST_CASE("a module that fails or returns something else is refused", "[module]") {
    CHECK_THROWS_WITH(compute("mean_loss"), Contains("must return the 1 losses"));
    CHECK_THROWS_WITH(compute("fails"), Contains("this author expects three dimensions"));
}

TEST_CASE("a file that is damaged or no module is refused", "[module]") {
    const Buffer whole = test::module_fixture("gpt.pt");
    for (const std::size_t length :
         {std::size_t{0}, std::size_t{1}, std::size_t{100}, whole.size() / 2, whole.size() - 1}) {
        INFO(length);
        const Buffer part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
        CHECK_THROWS_WITH((ScriptModule{part, kTight}), Contains("the module cannot be read"));
    }
    const Buffer garbage(10'000, std::byte{0x5a});
    CHECK_THROWS_WITH((ScriptModule{garbage, kTight}), Contains("the module cannot be read"));
    CHECK_THROWS_AS(load("zip_bomb"), InputError);
}

TEST_CASE("a module with any byte altered loads or is refused", "[module]") {
    set_compute_threads(1);
    const Buffer whole = test::module_fixture("fails.pt");
    for (std::size_t at = 0; at < whole.size(); at += 5) {
        Buffer altered = whole;
        altered[at] ^= std::byte{0x15};
        try {
            const ScriptModule loaded{altered, kTight};
        } catch (const InputError& error) {
            CHECK(std::string{error.what()}.size() > 10);
        }
    }
}

}  // namespace
}  // namespace dedloc::training::module

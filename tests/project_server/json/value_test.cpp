#include "project_server/json/value.hpp"

#include <catch2/catch.hpp>
#include <limits>

namespace dedloc::json {
namespace {

TEST_CASE("an object is written in the order in which its fields were set", "[server]") {
    Value inner;
    inner.set("z", 1).set("a", "\"\\\n\u00e9");
    Value value;
    value.set("list", Value::List{true, nullptr, -7, inner}).set("empty", Value::List{});
    value.set("none", Value{});
    CHECK(write(value) ==
          "{\"list\":[true,null,-7,{\"z\":1,\"a\":\"\\\"\\\\\\n\u00e9\"}],"
          "\"empty\":[],\"none\":{}}");
    CHECK(write_pretty(inner) == "{\n    \"z\": 1,\n    \"a\": \"\\\"\\\\\\n\u00e9\"\n}");
    CHECK(write_pretty(Value::List{1, "b"}, 2) == "[\n  1,\n  \"b\"\n]");
}

TEST_CASE("a number is written so that it reads back to the same value", "[server]") {
    CHECK(write(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
    CHECK(write(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
    CHECK(write(std::uint64_t{7}) == write(7));
    CHECK(write(0.1) == "0.1");
    CHECK(write(2.0) == "2.0");
    CHECK(write(1e-12) == "1e-12");
    CHECK(write(std::numeric_limits<double>::infinity()) == "null");
    CHECK(write(std::numeric_limits<double>::quiet_NaN()) == "null");
}

TEST_CASE("only an integer beyond std::int64_t is held without a sign", "[server]") {
    CHECK(std::holds_alternative<std::int64_t>(Value{std::uint64_t{7}}.value()));
    CHECK(std::holds_alternative<std::uint64_t>(Value{~std::uint64_t{0}}.value()));
}

TEST_CASE("a field is found by its name", "[server]") {
    Value value;
    value.set("a", 1).set("b", "two");
    CHECK(std::get<std::string>(value.field("b").value()) == "two");
}

}  // namespace
}  // namespace dedloc::json

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "peer/base/bytes.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/albert_layout.hpp"
#include "peer/platform/files.hpp"
#include "project_server/huggingface/albert_config.hpp"
#include "project_server/huggingface/safetensors.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::huggingface {
namespace {

namespace fs = std::filesystem;

/// A file of this header and as many zeros.
fs::path write_file(const TemporaryDirectory& folder, const std::string& json, std::size_t data) {
    std::string file(8, '\0');
    const std::uint64_t length = json.size();
    std::memcpy(file.data(), &length, sizeof(length));
    platform::replace_file(folder.path() / "x", file + json + std::string(data, '\0'));
    return folder.path() / "x";
}

TEST_CASE("a head is read as it was written, aligned to eight bytes", "[server]") {
    for (const char* name : {"a", "ab", "abc", "abcd", "abcde", "abcdef", "abcdefg", "abcdefgh"}) {
        const std::vector<StoredTensor> tensors{{.name = name, .type = "F32", .shape = {2, 3}},
                                                {.name = "last", .type = "F32", .shape = {5}}};
        const std::string head = write_safetensors_head(tensors);
        CHECK(head.size() % 8 == 0);
        std::uint64_t length = 0;
        std::memcpy(&length, head.data(), sizeof(length));
        CHECK(length == head.size() - 8);
        CHECK(head[8] == '{');
        const auto header = parse_safetensors_header("x", head.substr(8), 44);
        REQUIRE(header.tensors.size() == 2);
        CHECK(header.tensors[0].name == name);
        CHECK(header.tensors[0].shape == std::vector<std::uint64_t>{2, 3});
        CHECK(header.tensors[1].begin == 24);
        CHECK(header.tensors[1].end == 44);
        CHECK(header.metadata.at("format") == "pt");
    }
}

TEST_CASE("a file of transformers has the layout's tensors", "[server]") {
    for (const char* shape : {"flat", "steep", "square"}) {
        const fs::path folder = fs::path{DEDLOC_FIXTURES} / (std::string{"albert_"} + shape);
        const auto model =
            read_albert_config("config.json", platform::read_text(folder / "config.json"));
        const SafetensorsFile file{folder / "model.safetensors"};
        const auto wanted = formats::albert_tensors(model);
        CHECK(file.header().tensors.size() == wanted.size());
        for (const auto& tensor : wanted) {
            const StoredTensor* const found = file.find(tensor.name);
            REQUIRE(found != nullptr);
            CHECK(found->shape == tensor.shape);
        }
    }
}

TEST_CASE("half-precision values become the same numbers", "[server]") {
    const TemporaryDirectory folder;
    const auto read = [&](const std::string& type, const std::vector<std::uint16_t>& bits) {
        const std::string json = R"({"x":{"dtype":")" + type + R"(","shape":[)" +
                                 std::to_string(bits.size()) + R"(],"data_offsets":[0,)" +
                                 std::to_string(2 * bits.size()) + "]}}";
        const fs::path path = write_file(folder, json, 0);
        std::string all = platform::read_text(path);
        all.append(reinterpret_cast<const char*>(bits.data()), 2 * bits.size());
        platform::replace_file(path, all);
        const SafetensorsFile file{path};
        FloatVector values(bits.size());
        file.read(*file.find("x"), values);
        return values;
    };
    CHECK(read("F16", {0x3c00, 0xc000, 0x0001, 0x83ff, 0x7bff, 0x3555}) ==
          FloatVector{1.0f, -2.0f, 0x1p-24f, -0x3ffp-24f, 65'504.0f, 0x1.554p-2f});
    CHECK(read("BF16", {0x3f80, 0xc000, 0x0001, 0x7f7f}) ==
          FloatVector{1.0f, -2.0f, 0x1p-133f, 0x1.fep127f});
    CHECK_THROWS_WITH(read("F16", {0x3c00, 0x7c00}), Catch::Contains("not finite"));
    CHECK_THROWS_WITH(read("BF16", {0x7fc0}), Catch::Contains("not finite"));
    CHECK_THROWS_WITH(read("I16", {1}), Catch::Contains("the type I16, not F32, F16 or BF16"));
    // All finite halves, against their definition.
    for (unsigned bits = 0; bits < 0x7c00; ++bits) {
        const int exponent = static_cast<int>(bits >> 10);
        const double fraction = static_cast<double>(bits & 0x3ff) / 1024;
        const double expected =
            exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15);
        REQUIRE(read("F16", {static_cast<std::uint16_t>(bits)})[0] == expected);
        bits += 96;
    }
}

TEST_CASE("a header that does not fit the file is refused in one sentence", "[server]") {
    const auto refuses = [](const std::string& json, std::uint64_t data, const char* reason) {
        CAPTURE(json);
        CHECK_THROWS_WITH(parse_safetensors_header("x", json, data), Catch::Contains(reason));
    };
    const std::string good = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
    CHECK(parse_safetensors_header("x", "{" + good + "}", 8).tensors.size() == 1);
    refuses("{" + good + "}", 9, "have 8 bytes together, but 9 bytes follow");
    refuses("{" + good + "}", 7, "8 bytes together, but 7");
    refuses("{" + good + "," + good + "}", 8, "twice");
    refuses("[]", 0, "object");
    refuses("", 0, "");
    refuses("{", 0, "");
    refuses(R"({"a":1})", 0, "a");
    refuses(R"({"a":{"dtype":"F32","shape":[2]}})", 8, "data_offsets");
    refuses(R"({"a":{"dtype":"F31","shape":[2],"data_offsets":[0,8]}})", 8, "dtype");
    refuses(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":1}})", 8, "more");
    refuses(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8, "shape");
    refuses(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8, "data_offsets");
    refuses(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0,
            "too large");
    refuses(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12, "begins at byte 4");
    refuses("{" + good + R"(,"b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})", 8, "byte 4");
    refuses("{" + good + R"(,"b":{"dtype":"U8","shape":[4],"data_offsets":[9,13]}})", 13, "byte 9");
    refuses(R"({"__metadata__":{"format":1}})", 0, "format");
    refuses(R"({"":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", 4, "name");
}

TEST_CASE("a file that is no safetensors file is refused", "[server]") {
    const TemporaryDirectory folder;
    const fs::path path = folder.path() / "x";
    const auto refuses = [&](const std::string& contents) {
        platform::replace_file(path, contents);
        CHECK_THROWS_WITH(SafetensorsFile{path}, Catch::Contains("not a safetensors file"));
    };
    refuses("");
    refuses("1234567");
    refuses(std::string(8, '\0'));
    refuses(std::string(8, '\xff') + "{}");
    refuses(std::string("\x05\0\0\0\0\0\0\0{}", 10));
    CHECK_THROWS_AS(SafetensorsFile{folder.path() / "none"}, Error);
}

}  // namespace
}  // namespace dedloc::huggingface

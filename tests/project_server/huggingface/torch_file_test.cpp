#include <catch2/catch.hpp>

#include "peer/base/bytes.hpp"
#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "project_server/huggingface/pickle.hpp"
#include "project_server/huggingface/torch_file.hpp"
#include "tests/project_server/huggingface/torch_files.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::huggingface {
namespace {

namespace fs = std::filesystem;

const std::vector<TorchTensor> kTensors{{"a", {2, 3}, {1, 2, 3, 4, 5, 6}},
                                        {"b.weight", {2}, {-1, 0.5f}}};

TEST_CASE("both formats of PyTorch are read with their values", "[server]") {
    const TemporaryDirectory folder;
    const fs::path path = folder.path() / "pytorch_model.bin";
    platform::replace_file(path, GENERATE(torch_zip(kTensors), torch_row(kTensors)));
    const TorchFile file{path};
    REQUIRE(file.tensors().size() == 2);
    for (const TorchTensor& wanted : kTensors) {
        const StoredTensor* const found = file.find(wanted.name);
        REQUIRE(found != nullptr);
        CHECK(found->shape == wanted.shape);
        CHECK(found->type == "F32");
        FloatVector values(wanted.values.size());
        file.read(*found, values);
        CHECK(values == wanted.values);
    }
}

TEST_CASE("a pickle that asks for more than tensors is refused", "[server]") {
    const auto refuses = [](const std::string& pickle, const char* reason) {
        CHECK_THROWS_WITH(parse_pickle("x", bytes_of(pickle)), Catch::Contains(reason));
    };
    refuses(
        "\x80\x02"
        "cos\nsystem\n(" +
            pickle_text("true") + "tR.",
        "Python's 'os system'");
    refuses("\x80\x04" + pickle_text("builtins") + pickle_text("eval") + "\x93.", "builtins eval");
    refuses("\x80\x02i", "an instruction 0x69");
    refuses(
        "\x80\x02"
        "ctorch._utils\n_rebuild_tensor_v2\n)R.",
        "damaged");
    refuses("", "damaged");
    refuses(")", "damaged");
    refuses("h\x07.", "damaged");
    refuses("t.", "damaged");
    refuses("(.", "damaged");
    const std::string whole = pickle_tensors(kTensors);
    for (std::size_t length = 0; length < whole.size(); ++length) {
        CHECK_THROWS_AS(parse_pickle("x", bytes_of(whole).first(length)), InputError);
    }
    // Values that would fill the memory, or the stack when they are destroyed.
    refuses("(" + std::string(3 << 20, 'N'), "too large");
    refuses("N" + std::string(3 << 20, '\x85') + ".", "damaged");
    refuses("X\xff\xff\xff\xff", "damaged");
}

TEST_CASE("a tensor must lie in its storage, row by row", "[server]") {
    const auto refuses = [](const std::string& from, const std::string& to, const char* reason) {
        std::string pickle = pickle_tensors({{"a", {2, 3}, std::vector<float>(6)}});
        const auto at = pickle.find(from);
        REQUIRE(at != std::string::npos);
        pickle.replace(at, from.size(), to);
        CAPTURE(from, to);
        CHECK_THROWS_WITH(parse_pickle("x", bytes_of(pickle)), Catch::Contains(reason));
    };
    const auto tuple = [](std::uint64_t a, std::uint64_t b) { return pickle_tuple({a, b}); };
    refuses(tuple(2, 3), tuple(3, 3), "damaged");
    refuses(tuple(2, 3), tuple(0x7fffffff, 3), "damaged");
    refuses(tuple(3, 1), tuple(1, 2), "do not follow one another");
    refuses("tQ" + pickle_number(0), "tQ" + pickle_number(1), "damaged");
    refuses("tQ" + pickle_number(0), "tQ" + pickle_number(~std::uint64_t{0}), "damaged");
    refuses("torch\nFloatStorage", "torch\nFloatStorag\u00e9", "asks for Python's");
}

TEST_CASE("a file that is no whole one of PyTorch is refused in one sentence", "[server]") {
    const TemporaryDirectory folder;
    const fs::path path = folder.path() / "pytorch_model.bin";
    const auto refuses = [&](const std::string& contents, const char* reason) {
        platform::replace_file(path, contents);
        const auto read_all = [&] {
            const TorchFile file{path};
            for (const auto& tensor : file.tensors()) {
                FloatVector values(tensor.count());
                file.read(tensor, values);
            }
        };
        CHECK_THROWS_WITH(read_all(), Catch::Contains(reason));
        CHECK_THROWS_AS(read_all(), InputError);
    };
    refuses("", "no file of PyTorch");
    refuses("{}", "no file of PyTorch");
    refuses("\x80\x02K\x01.", "no file of PyTorch");
    refuses(zip_of({{"a/b", "c"}}), "without data.pkl");
    refuses(zip_of({{"a/constants.pkl", "c"}}), "TorchScript");
    refuses(zip_of({{"a/data.pkl", "\x80\x02}."}}), "it has none");
    refuses(zip_of({{"a/data.pkl", "}" + pickle_text("step") + "K\x01s."}}),
            "its item 'step' is no tensor");
    refuses(zip_of({{"a/data.pkl", pickle_tensors(kTensors)}, {"a/byteorder", "big"}}),
            "big-endian");
    refuses(zip_of({{"a/data.pkl", pickle_tensors(kTensors)}}), "has 0 bytes of the storage 0");
    refuses(zip_of({{"a/data.pkl", pickle_tensors(kTensors)}, {"a/data/0", std::string(25, 'x')}}),
            "larger than it says");
    refuses(zip_of({{"a/data.pkl", pickle_tensors(kTensors, false, "DoubleStorage")},
                    {"a/data/0", std::string(48, '\0')}}),
            "the type F64");
    const std::string zip = torch_zip(kTensors);
    const std::string row = torch_row(kTensors);
    refuses(zip.substr(0, zip.size() / 2), "pytorch_model.bin");
    refuses(row.substr(0, row.size() - 4), "lacks the storage 1");
    refuses(row.substr(0, row.size() - 40), "damaged storage");
}

}  // namespace
}  // namespace dedloc::huggingface

// Run file, shard and receipt: what is written reads back equal, and other input is refused.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>

#include "peer/base/error.hpp"
#include "peer/base/random.hpp"
#include "peer/formats/albert_layout.hpp"
#include "peer/formats/job_shards.hpp"
#include "peer/formats/receipt.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/formats/shard.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::formats {
namespace {

RunFile tiny_run() {
    RunFile run;
    run.name = "tiny";
    run.seed = 42;
    run.model = AlbertSpec{.vocabulary = 1'000,
                           .embedding = 128,
                           .hidden = 128,
                           .layers = 2,
                           .heads = 2,
                           .ffn = 512,
                           .positions = 64};
    run.sequence_length = 64;
    run.target_batch = 96;
    run.steps = 100;
    run.optimizer.warmup_steps = 10;
    run.flops_per_sample = albert_flops_per_sample(albert_of(run), run.sequence_length);
    run.project_key.bytes.fill(std::byte{1});
    run.backbone_key.bytes.fill(std::byte{2});
    run.dht_seeds = {{"127.0.0.1", 7'881}, {"2001:db8::1", 80}};
    run.shards = {{.name = "tiny_0", .digest = {}, .bytes = 123}};
    run.tensors = albert_tensors(albert_of(run));
    return run;
}

std::string with(std::string json, const std::string& from, const std::string& to) {
    const std::size_t at = json.find(from);
    REQUIRE(at != std::string::npos);
    return json.replace(at, from.size(), to);
}

std::string refusal_of(const std::string& json) {
    try {
        parse_run_file(json);
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

TEST_CASE("a run file reads back equal and its id depends on its contents", "[wire]") {
    const RunFile run = tiny_run();
    const std::string json = write_run_file(run);
    CHECK(parse_run_file(json) == run);
    CHECK(write_run_file(parse_run_file(json)) == json);
    CHECK(run_id(parse_run_file(json)) == run_id(run));
    RunFile other = run;
    other.seed += 1;
    CHECK(run_id(other) != run_id(run));
}

TEST_CASE("links are encrypted unless the run file says off", "[wire]") {
    const std::string json = write_run_file(tiny_run());
    CHECK(parse_run_file(json).encrypts);
    const std::string silent = with(json, "\"encryption\":\"on\",", "");
    CHECK(parse_run_file(silent).encrypts);
    CHECK(run_id(parse_run_file(silent)) == run_id(tiny_run()));
    const RunFile open = parse_run_file(with(json, "\"on\"", "\"off\""));
    CHECK_FALSE(open.encrypts);
    CHECK(run_id(open) != run_id(tiny_run()));
    CHECK(parse_run_file(write_run_file(open)) == open);
}

TEST_CASE("a run file may name the digest of the first state", "[wire]") {
    const std::string json = write_run_file(tiny_run());
    CHECK_FALSE(parse_run_file(json).initial_state);
    CHECK(json.find("initial_state") == std::string::npos);
    RunFile run = tiny_run();
    run.initial_state = blake2b(bytes_of("state"));
    const RunFile again = parse_run_file(write_run_file(run));
    CHECK(again == run);
    CHECK(run_id(again) != run_id(tiny_run()));
    CHECK_THAT(refusal_of(with(json, "\"model\"", "\"initial_state\":\"12\",\"model\"")),
               Catch::Contains("initial_state"));
}

TEST_CASE("gradients travel as fp32 unless the run file names another codec", "[wire]") {
    const std::string json = write_run_file(tiny_run());
    CHECK(parse_run_file(json).codec == Codec::kFp32);
    CHECK(json.find("codec") == std::string::npos);
    const auto with_codec = [&](const std::string& codec) {
        return with(json, "\"encryption\"", "\"codec\":\"" + codec + "\",\"encryption\"");
    };
    CHECK(run_id(parse_run_file(with_codec("fp32"))) == run_id(tiny_run()));
    for (const auto& [name, codec] :
         {std::pair{"fp16", Codec::kFp16}, {"bf16", Codec::kBf16}, {"int8", Codec::kInt8}}) {
        const RunFile rounded = parse_run_file(with_codec(name));
        CHECK(rounded.codec == codec);
        CHECK(run_id(rounded) != run_id(tiny_run()));
        CHECK(parse_run_file(write_run_file(rounded)) == rounded);
    }
    CHECK(refusal_of(with_codec("fp8")) ==
          "run file: field 'codec' must be 'fp32', 'fp16', 'bf16' or 'int8'");
}

TEST_CASE("trainers wait for a round unless the run file says overlap", "[wire]") {
    const std::string json = write_run_file(tiny_run());
    CHECK_FALSE(parse_run_file(json).overlaps);
    CHECK(json.find("overlap") == std::string::npos);
    const auto with_overlap = [&](const std::string& value) {
        return with(json, "\"encryption\"", "\"overlap\":" + value + ",\"encryption\"");
    };
    CHECK(run_id(parse_run_file(with_overlap("false"))) == run_id(tiny_run()));
    const RunFile overlapping = parse_run_file(with_overlap("true"));
    CHECK(overlapping.overlaps);
    CHECK(run_id(overlapping) != run_id(tiny_run()));
    CHECK(parse_run_file(write_run_file(overlapping)) == overlapping);
    CHECK_FALSE(refusal_of(with_overlap("\"yes\"")).empty());
}

TEST_CASE("a run has no dropout unless its file says so", "[wire]") {
    const std::string json = write_run_file(tiny_run());
    CHECK(json.find("dropout") == std::string::npos);
    const auto with_dropout = [&](const std::string& fields) {
        return with(json, "\"positions\":64", "\"positions\":64," + fields);
    };
    CHECK(run_id(parse_run_file(with_dropout("\"hidden_dropout\":0"))) == run_id(tiny_run()));
    RunFile run = tiny_run();
    albert_of(run).hidden_dropout = 0.1;
    albert_of(run).attention_dropout = 0.2;
    albert_of(run).classifier_dropout = 0.3;
    CHECK(run == parse_run_file(with_dropout("\"hidden_dropout\":0.1,\"attention_dropout\":0.2,"
                                             "\"classifier_dropout\":0.3")));
    CHECK(parse_run_file(write_run_file(run)) == run);
    CHECK(run_id(run) != run_id(tiny_run()));
    CHECK_THAT(refusal_of(with_dropout("\"attention_dropout\":0.95")),
               Catch::Contains("'model.attention_dropout'"));
    CHECK_THAT(refusal_of(with_dropout("\"classifier_dropout\":-0.1")),
               Catch::Contains("'model.classifier_dropout'"));
}

TEST_CASE("the run id does not depend on white space or the order of fields", "[wire]") {
    const std::string json = write_run_file(tiny_run());
    const std::string moved =
        "{ \"seed\": 42,\n" + with(with(json, "{\"version\"", "\"version\""), ",\"seed\":42", "");
    CHECK(run_id(parse_run_file(moved)) == run_id(tiny_run()));
}

TEST_CASE("a bad field of a run file is refused in one sentence with its name", "[wire]") {
    const std::string json = write_run_file(tiny_run());
    struct Case {
        std::string from, to, name;
    };
    const auto bad = GENERATE(
        Case{"\"name\":\"tiny\",", "", "'name'"}, Case{"\"tiny\"", "\"\"", "'name'"},
        Case{"\"tiny\"", "\"a\\u0000b\"", "'name'"}, Case{"\"seed\":42", "\"seed\":-1", "'seed'"},
        Case{"\"seed\":42", "\"seed\":18446744073709551616", "'seed'"},
        Case{"\"seed\":42", "\"seed\":42,\"seed\":43", "'seed'"},
        Case{"\"seed\":42", "\"seed\":42,\"sead\":43", "'sead'"},
        Case{"\"albert\"", "\"bert\"", "'model.architecture'"},
        Case{"\"heads\":2", "\"heads\":3", "'model.heads'"},
        Case{"\"vocabulary\":1000", "\"vocabulary\":65537", "'model.vocabulary'"},
        Case{"\"sequence_length\":64", "\"sequence_length\":65", "'sequence_length'"},
        Case{"\"version\":2", "\"version\":2.0", "'version'"},
        Case{"\"steps\"", "\"micro_batch\":8,\"steps\"", "'micro_batch'"},
        Case{"\"steps\":100", "\"steps\":\"100\"", "'steps'"},
        Case{"\"beta1\":0.9", "\"beta1\":1.0", "'optimizer.beta1'"},
        Case{"\"lamb\"", "\"adam\"", "'optimizer.name'"},
        Case{"\"lamb\"", "\"sgd\"", "'optimizer.momentum'"},
        Case{"\"beta1\"", "\"momentum\":0.9,\"beta1\"", "'optimizer.momentum'"},
        Case{"\"beta1\"", "\"trust\":0.9,\"beta1\"", "'optimizer.trust'"},
        Case{"\"beta1\"", "\"schedule\":\"step\",\"beta1\"", "'optimizer.schedule'"},
        Case{"127.0.0.1:7881", "127.0.0.1:0", "'dht_seeds'"},
        Case{"127.0.0.1:7881", "127.0.0.1", "'dht_seeds'"},
        Case{"127.0.0.1:7881", "127.0.0\\u00001:7881", "'dht_seeds'"},
        Case{"127.0.0.1:7881", "[127.0.0.1]:7881", "'dht_seeds'"},
        Case{"127.0.0.1:7881", "2001:db8::1:7881", "'dht_seeds'"},
        Case{"\"project_key\":\"01", "\"project_key\":\"0", "'project_key'"},
        Case{"\"encryption\":\"on\"", "\"encryption\":\"maybe\"", "'encryption'"},
        Case{"\"encryption\":\"on\"", "\"encryption\":false", "'encryption'"},
        Case{"\"encryption\"", "\"codec\":16,\"encryption\"", "'codec'"},
        Case{"\"encryption\"", "\"overlap\":1,\"encryption\"", "'overlap'"},
        Case{"\"bytes\":123", "\"bytes\":0", "'shards[0].bytes'"},
        Case{"\"bytes\":123", "\"bytes\":123,\"weight\":0", "'shards[0].weight'"},
        Case{"\"bytes\":123", "\"bytes\":123,\"held_out\":1", "'shards[0].held_out'"},
        Case{"\"mask\":4", "\"mask\":3", "'special_tokens.mask'"},
        Case{"\"mask\":4", "\"mask\":1000", "'special_tokens.mask'"},
        Case{"\"normal\"", "\"uniform\"", "'tensors[0].init'"},
        Case{"[1000,128]", "[1000,0]", "'tensors[0].shape'"},
        Case{"[1000,128]", "[17179869184,17179869184]", "'tensors[0].shape'"},
        Case{"\"decay\":true", "\"decay\":1", "'tensors[0].decay'"},
        Case{"position_embeddings", "word_embeddings", "'tensors'"});
    const std::string refusal = refusal_of(with(json, bad.from, bad.to));
    CAPTURE(bad.from, bad.to, refusal);
    CHECK(refusal.find(bad.name) != std::string::npos);
    CHECK(refusal.find('\n') == std::string::npos);
}

TEST_CASE("a run file of another version is refused with what to do about it", "[wire]") {
    const std::string json = write_run_file(tiny_run());
    REQUIRE(json.starts_with("{\"version\":2,\"name\""));
    const std::string older =
        "the run file has version 1 of the format, but this program reads version 2: create the "
        "run again with this version of dedloc";
    // The files of version 1 do not say so, and had another field.
    CHECK(refusal_of(with(with(json, "\"version\":2,", ""), "\"target_batch\"",
                          "\"micro_batch\":8,\"target_batch\"")) == older);
    CHECK(refusal_of("{}") == older);
    CHECK(refusal_of(with(json, "\"version\":2", "\"version\":1")) == older);
    CHECK_THAT(refusal_of(with(json, "\"version\":2", "\"version\":3")),
               Catch::EndsWith("use the program of the version that created the run"));
}

TEST_CASE("every tensor begins at a multiple of 64 elements of the flat vector", "[wire]") {
    RunFile run = tiny_run();
    const auto tensor = [](const char* name, std::vector<std::uint64_t> shape) {
        return TensorSpec{.name = name, .shape = std::move(shape)};
    };
    run.tensors = {tensor("a", {1}), tensor("b", {64}), tensor("c", {5, 13}), tensor("d", {2})};
    CHECK(tensor_offsets(run) == std::vector<std::uint64_t>{0, 64, 128, 256});
    CHECK(element_count(run) == 320);
    CHECK(parameter_count(run) == 1 + 64 + 65 + 2);
    CHECK(parse_run_file(write_run_file(run)) == run);
    // The zeros count towards the limit: 2³² elements.
    run.tensors = {tensor("a", {(std::uint64_t{1} << 32) - 64}), tensor("b", {64})};
    CHECK(parse_run_file(write_run_file(run)) == run);
    run.tensors[1].shape = {65};
    CHECK_THROWS_WITH(write_run_file(run), Catch::Contains("have more than 4294967296 elements"));
    run.tensors = {tensor("a", {1}), tensor("b", {(std::uint64_t{1} << 32) - 63})};
    CHECK_THROWS_WITH(write_run_file(run), Catch::Contains("have more than 4294967296 elements"));
}

TEST_CASE("a run file holds every optimizer and schedule, and only the fields that it uses",
          "[wire]") {
    const std::string plain = write_run_file(tiny_run());
    for (const char* absent : {"schedule", "momentum", "trust"}) {
        CHECK(plain.find(absent) == std::string::npos);
    }
    std::set<RunId> ids;
    for (std::size_t i = 0; i < kOptimizerNames.size(); ++i) {
        for (const char* schedule : kScheduleNames) {
            RunFile run = tiny_run();
            run.optimizer = usual_settings(static_cast<Optimizer>(i));
            run.optimizer.schedule = *schedule_named(schedule);
            if (!has_final_rate(run.optimizer.schedule)) run.optimizer.final_learning_rate = 0;
            const std::string json = write_run_file(run);
            INFO(json);
            CHECK(parse_run_file(json) == run);
            CHECK((json.find("beta2") != std::string::npos) == is_lamb(run.optimizer.name));
            CHECK((json.find("momentum") != std::string::npos) == !is_lamb(run.optimizer.name));
            CHECK((json.find("trust") != std::string::npos) ==
                  (run.optimizer.name == Optimizer::kSgdLarc));
            ids.insert(run_id(run));
        }
    }
    CHECK(ids.size() == 16);
    CHECK_FALSE(optimizer_named("LAMB"));
    CHECK_FALSE(schedule_named(""));
    RunFile run = tiny_run();
    run.optimizer.momentum = 0.5;  // LAMB has none, so the file would lose it
    CHECK_THROWS_AS(write_run_file(run), InputError);
}

TEST_CASE("numbers of a run file are read exactly or refused", "[wire]") {
    const std::string json = write_run_file(tiny_run());
    const auto beta_of = [&](const std::string& text) {
        return parse_run_file(with(json, "\"beta1\":0.9", "\"beta1\":" + text)).optimizer.beta1;
    };
    CHECK(beta_of("0e-30") == 0.0);
    CHECK(beta_of("0.00000000000000000000000000000000000000000000") == 0.0);
    CHECK(beta_of("0.1000000000000000055511151231257827021181583404541015625") == 0.1);
    CHECK(beta_of("4.9e-324") == 4.9e-324);
    for (const char* bad : {"1e-400", "1e400", "-1e400", ".5", "0x1", "01", "NaN"}) {
        CHECK(refusal_of(with(json, "\"beta1\":0.9", std::string("\"beta1\":") + bad)) !=
              "accepted");
    }
}

TEST_CASE("strings of a run file are UTF-8, with and without escapes", "[wire]") {
    const std::string json = write_run_file(tiny_run());
    const auto named = [&](const std::string& text) {
        return with(json, "\"name\":\"tiny\"", "\"name\":\"" + text + "\"");
    };
    CHECK(parse_run_file(named("\\ud83d\\ude00")).name == "\xf0\x9f\x98\x80");
    CHECK(parse_run_file(named("\\u00e9")).name == "\xc3\xa9");
    for (const char* bad :
         {"\\udc00", "\\ud800", "\\ud800\\ud800", "\xc3", "\xed\xb0\x80", "\xff"}) {
        CHECK_THAT(refusal_of(named(bad)), Catch::StartsWith("the run file is not JSON: "));
    }
    CHECK_THAT(refusal_of(with(json, "\"name\"", "\"\\udc00\"")),
               Catch::Contains("half a surrogate pair"));
}

TEST_CASE("a run file that is cut off, nested very deeply or too long is refused", "[wire]") {
    const std::string json = write_run_file(tiny_run());
    for (std::size_t length = 0; length < json.size(); length += 7) {
        CHECK(refusal_of(json.substr(0, length)) != "accepted");
    }
    CHECK(refusal_of(std::string(1'000'000, '[')) != "accepted");
    CHECK(refusal_of("[]") != "accepted");
    CHECK(refusal_of(std::string(kMaxRunFileBytes + 1, ' ')).find("bytes") != std::string::npos);
}

TEST_CASE("ALBERT's tensors have the published count and DeDLOC's decay rule", "[wire]") {
    const AlbertSpec large{.vocabulary = 30'000,
                           .embedding = 128,
                           .hidden = 1'024,
                           .layers = 24,
                           .heads = 16,
                           .ffn = 4'096,
                           .positions = 512};
    RunFile run;
    run.tensors = albert_tensors(large);
    CHECK(run.tensors.size() == 32);
    CHECK(parameter_count(run) == 17'847'474);
    CHECK(element_count(run) == 17'847'552);
    CHECK(albert_flops_per_sample(large, 512) == Approx(1.018e12).epsilon(0.001));
    for (const TensorSpec& tensor : run.tensors) {
        const bool is_filtered = tensor.name.find("bias") != std::string::npos ||
                                 tensor.name.find("LayerNorm.weight") != std::string::npos;
        CHECK(tensor.decays == !is_filtered);
    }
}

Shard random_shard(Random random) {
    ShardBuilder builder{300};
    for (int document = 0; document < 20; ++document) {
        for (std::uint64_t left = random.below(6); left > 0; --left) {
            std::vector<std::uint16_t> sentence(random.below(12));
            for (auto& token : sentence) token = static_cast<std::uint16_t>(random.below(300));
            builder.add_sentence(sentence);
        }
        builder.end_document();
    }
    return std::move(builder).finish();
}

TEST_CASE("a shard reads back equal", "[wire]") {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const Shard shard = random_shard(Random{seed});
        const auto again = decode_shard(shard.file, shard.owner);
        REQUIRE(again);
        CHECK(again->vocabulary == 300);
        CHECK(std::ranges::equal(again->tokens, shard.tokens));
        CHECK(std::ranges::equal(again->sentence_ends, shard.sentence_ends));
        CHECK(std::ranges::equal(again->document_ends, shard.document_ends));
        CHECK(again->tokens.data() == shard.tokens.data());  // in place
    }
}

TEST_CASE("a shard that is cut, extended or altered is refused or stays within its bounds",
          "[wire]") {
    const Shard sound = random_shard(Random{1});
    const Buffer good(sound.file.begin(), sound.file.end());
    for (std::size_t length = 0; length < good.size(); ++length) {
        CHECK_FALSE(decode_shard(std::span{good}.first(length), nullptr));
    }
    Buffer longer = good;
    longer.push_back(std::byte{0});
    CHECK(decode_shard(longer).reason() == ShardError::kTrailingBytes);
    Random random{2};
    for (int trial = 0; trial < 3'000; ++trial) {
        Buffer altered = good;
        altered[random.below(altered.size())] ^= static_cast<std::byte>(1 + random.below(255));
        const auto shard = decode_shard(altered);
        if (!shard) continue;
        CHECK(shard->sentence_ends.back() == shard->tokens.size());
        CHECK(shard->document_ends.back() == shard->sentence_count());
    }
}

TEST_CASE("the starts of a shard are the sentences that another one follows", "[wire]") {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const Shard shard = random_shard(Random{seed});
        std::size_t number = 0;
        for (std::size_t d = 0; d < shard.document_count(); ++d) {
            const std::size_t end = shard.document_ends[d];
            for (auto s = shard.document_begin(d); s + 1 < end; ++s) {
                const auto start = shard.start(number++);
                CHECK(start.sentence == s);
                CHECK(start.document_end == end);
            }
        }
        CHECK(number == shard.start_count());
    }
}

TEST_CASE("a shard keeps its bytes alive", "[wire]") {
    Shard copy;
    {
        const Shard shard = random_shard(Random{3});
        copy = shard;
    }
    CHECK(decode_shard(copy.file, copy.owner));
}

TEST_CASE("jobs take turns with the shards and leave out what is held out", "[wire]") {
    RunFile run = tiny_run();
    run.shards.clear();
    for (int i = 0; i < 9; ++i) {
        run.shards.push_back(
            {.name = "s" + std::to_string(i), .digest = {}, .bytes = 1, .is_held_out = i == 4});
    }
    CHECK(training_shards(run).size() == 8);
    CHECK(held_out_shards(run) == std::vector<ShardReference>{run.shards[4]});
    CHECK(shards_of_job(run, 7) == training_shards(run));
    for (run.shards_per_job = 1; run.shards_per_job <= 8; ++run.shards_per_job) {
        CHECK(parse_run_file(write_run_file(run)) == run);
        for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{5}, ~std::uint64_t{99}}) {
            std::map<std::string, std::uint64_t> uses;
            for (std::uint64_t job = first; job < first + 8; ++job) {
                std::set<std::string> names;
                for (const auto& shard : shards_of_job(run, job)) names.insert(shard.name);
                CHECK(names.size() == run.shards_per_job);
                for (const auto& name : names) ++uses[name];
            }
            CHECK(uses.size() == 8);
            for (const auto& [name, count] : uses) CHECK(count == run.shards_per_job);
        }
    }
    run.shards_per_job = 9;
    CHECK_THROWS_WITH(write_run_file(run), Catch::Contains("'shards_per_job'"));
}

TEST_CASE("a shard with counts beyond its size allocates nothing", "[wire]") {
    ByteWriter out;
    out.write(std::uint32_t{0x31534C44});
    out.write(std::uint32_t{300});
    for (int i = 0; i < 3; ++i) out.write(~std::uint64_t{0});
    const auto bytes = std::move(out).finish();
    CHECK(decode_shard(bytes).reason() == ShardError::kTooShort);
}

Receipt small_receipt(const KeyPair& key) {
    Receipt receipt{.run = run_id(tiny_run()),
                    .result_name = "tiny_0_1",
                    .peer = key.public_key(),
                    .lines = {}};
    for (std::uint64_t step = 0; step < 30; ++step) {
        receipt.lines.push_back({StepIndex{2 * step}, Samples{8 * step}});
    }
    return receipt;
}

TEST_CASE("a receipt reads back equal", "[wire]") {
    const KeyPair key = KeyPair::generate();
    Receipt receipt = small_receipt(key);
    CHECK(*decode_receipt(encode_receipt(receipt, key)) == receipt);
    receipt.lines.clear();
    CHECK(*decode_receipt(encode_receipt(receipt, key)) == receipt);
}

TEST_CASE("a receipt is refused if any bit is changed or any end is cut off", "[wire]") {
    const KeyPair key = KeyPair::generate();
    const Buffer good = encode_receipt(small_receipt(key), key);
    for (std::size_t length = 0; length < good.size(); ++length) {
        CHECK_FALSE(decode_receipt(std::span{good}.first(length)));
    }
    for (std::size_t at = 0; at < good.size(); ++at) {
        Buffer altered = good;
        altered[at] ^= std::byte{0x10};
        CHECK_FALSE(decode_receipt(altered));
    }
    CHECK(decode_receipt(Buffer(kMaxReceiptBytes + 1)).reason() == ReceiptError::kTooLarge);
}

TEST_CASE("the largest receipt fits its limit", "[wire]") {
    const KeyPair key = KeyPair::generate();
    Receipt receipt = small_receipt(key);
    receipt.lines.clear();
    for (std::uint64_t step = 0; step < kMaxReceiptLines; ++step) {
        receipt.lines.push_back({StepIndex{step}, Samples{wire::kMaxSamples}});
    }
    receipt.result_name = std::string(wire::kMaxResultNameBytes, 'x');
    const auto again = decode_receipt(encode_receipt(receipt, key));
    REQUIRE(again);
    CHECK(again->lines.size() == kMaxReceiptLines);
}

}  // namespace
}  // namespace dedloc::formats

// `dedloc corpus train-tokenizer` and `dedloc corpus tokenize`. The second one reads lines of files
// or of standard input and writes a line of ids for each, so that two tokenizers can be compared
// with diff; with --count it measures instead, in one thread and without reading and writing.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/base/utf8.hpp"
#include "project_server/cli/commands.hpp"
#include "project_server/cli/end_at_signal.hpp"
#include "project_server/cli/output.hpp"
#include "project_server/corpus/tokenizer.hpp"
#include "project_server/corpus/tokenizer_training.hpp"

namespace dedloc::cli {
namespace {

/// Arguments of `tokenize`.
struct TokenizeOptions {
    std::string tokenizer;
    std::vector<std::string> files;
    bool adds_special = false;
    bool counts = false;
    bool as_json = false;
};

/// Calls take(line, its number) for every line.
template <class Take>
void each_line(std::istream& in, const std::string& name, const Take& take) {
    std::uint64_t number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        if (!is_utf8(line)) {
            throw InputError(fmt::format("{}, line {}: is not UTF-8", name, number));
        }
        take(line);
    }
}

template <class Take>
void each_line(const std::vector<std::string>& files, const Take& take) {
    if (files.empty()) return each_line(std::cin, "standard input", take);
    for (const auto& file : files) {
        std::ifstream in{file};
        if (!in) throw InputError(fmt::format("cannot read {}", file));
        each_line(in, file, take);
    }
}

void count(const corpus::Tokenizer& tokenizer, const TokenizeOptions& options) {
    std::vector<std::string> lines;
    std::uint64_t bytes = 0;
    each_line(options.files, [&](const std::string& line) {
        lines.push_back(line);
        bytes += line.size();
    });
    std::uint64_t tokens = 0;
    const std::clock_t start = std::clock();
    for (const auto& line : lines) tokens += tokenizer.encode(line).size();
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    if (options.as_json) {
        json::Value data;
        data.set("bytes", bytes).set("lines", lines.size());
        data.set("seconds", seconds).set("tokens", tokens);
        return print(data, true);
    }
    fmt::print("{} lines, {} bytes, {} tokens in {:.3f} s of a processor: {:.0f} tokens/s\n",
               lines.size(), bytes, tokens, seconds, static_cast<double>(tokens) / seconds);
}

void tokenize(const TokenizeOptions& options) {
    const corpus::Tokenizer tokenizer{tokenizer::read_model_tokenizer(options.tokenizer)};
    if (options.counts) return count(tokenizer, options);
    const auto& special = tokenizer.special_tokens();
    const char* divider = "";
    if (options.as_json) fmt::print("{{\"ids\":[");
    each_line(options.files, [&](const std::string& line) {
        auto ids = tokenizer.encode(line);
        if (options.adds_special) {
            ids.insert(ids.begin(), special.cls);
            ids.push_back(special.sep);
        }
        if (options.as_json) {
            fmt::print("{}[{}]", std::exchange(divider, ","), fmt::join(ids, ","));
        } else {
            fmt::print("{}\n", fmt::join(ids, " "));
        }
    });
    if (options.as_json) fmt::print("]}}\n");
}

void train(const corpus::TokenizerOptions& options, bool as_json) {
    const EndAtSignal end_at_signal;
    const auto trained = corpus::train_tokenizer_folder(options);
    if (as_json) {
        json::Value data;
        data.set("documents", trained.documents).set("folder", options.folder.string());
        data.set("pieces", trained.pieces).set("sentences", trained.sentences);
        return print(data, true);
    }
    fmt::print("{}: {} pieces from {} sentences of {} documents\n", options.folder.string(),
               trained.pieces, trained.sentences, trained.documents);
}

void add_tokenize(CLI::App& corpus) {
    auto* const command =
        corpus.add_subcommand("tokenize", "Print the ids of a tokenizer for each line of a text");
    const auto options = std::make_shared<TokenizeOptions>();
    command
        ->add_option("--tokenizer", options->tokenizer,
                     "tokenizer.json, spiece.model or folder, as corpus build takes it")
        ->required();
    command->add_option("FILE", options->files, "UTF-8 texts (default: standard input)");
    command->add_flag("--special", options->adds_special, "With [CLS] and [SEP] around each line");
    command->add_flag("--count", options->counts, "Print the number of tokens and the time only");
    command->add_flag("--json", options->as_json, "Print JSON");
    command->callback([options] { tokenize(*options); });
}

void add_rules(CLI::App& command, const std::shared_ptr<corpus::TokenizerOptions>& options) {
    auto* const like = command.add_option(
        "--like", options->like,
        "Take normaliser and divisions of this tokenizer.json, and train new pieces");
    command
        .add_option("--normalise", options->normaliser,
                    "What is done to a text, in this order: nmt nfc nfd nfkc nfkd lower-case "
                    "strip-accents strip blanks text:FROM=TO regex:EXPRESSION=TO")
        ->capture_default_str()
        ->excludes(like);
    command
        .add_option("--divide", options->divisions,
                    "What no piece reaches across, in this order: metaspace digits digit-runs "
                    "punctuation whitespace regex:EXPRESSION")
        ->capture_default_str()
        ->excludes(like);
}

void add_train_tokenizer(CLI::App& corpus) {
    auto* const command = corpus.add_subcommand(
        "train-tokenizer", "Train a tokenizer for corpus build --tokenizer, and for AutoTokenizer");
    const auto options = std::make_shared<corpus::TokenizerOptions>();
    command->add_option("--text", options->texts, "UTF-8 text; repeat to read several")->required();
    command->add_option("--out", options->folder, "Folder to create")->required();
    command->add_option("--vocabulary", options->vocabulary, "Number of pieces")
        ->check(CLI::Range(100, 65'535))
        ->capture_default_str();
    add_rules(*command, options);
    command
        ->add_option_function<std::string>(
            "--documents",
            [options](const std::string& name) { options->form = corpus::form_named(name); },
            "What a document is (default: jsonl for *.jsonl, else blank-line)")
        ->check(CLI::IsMember({"blank-line", "line", "jsonl"}));
    command
        ->add_option("--language", options->language,
                     "Language of the text, to find sentence ends: en, bn …; root: any")
        ->capture_default_str();
    command->add_option("--seed", options->seed, "Seed of the sample that it is trained on")
        ->capture_default_str();
    const auto as_json = std::make_shared<bool>(false);
    command->add_flag("--json", *as_json, "Print JSON");
    command->callback([options, as_json] { train(*options, *as_json); });
}

}  // namespace

void add_tokenizer_commands(CLI::App& corpus) {
    add_train_tokenizer(corpus);
    add_tokenize(corpus);
}

}  // namespace dedloc::cli

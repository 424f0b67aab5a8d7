#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "project_server/cli/commands.hpp"
#include "project_server/cli/corpus.hpp"

namespace dedloc::cli {

void add_corpus_commands(CLI::App& dedloc) {
    auto* const corpus = dedloc.add_subcommand("corpus", "Prepare text for training");
    corpus->require_subcommand(1);
    auto* const build = corpus->add_subcommand("build", "Train a tokenizer and write shards");
    const auto options = std::make_shared<CorpusOptions>();  // owned by the callback
    build
        ->add_option("--text", options->text, "Plain text (UTF-8), one paragraph or verse per line")
        ->required();
    build->add_option("--out", options->folder, "Folder to create")->required();
    build->add_option("--vocabulary", options->vocabulary, "Number of pieces of the tokenizer")
        ->check(CLI::Range(100, 65'535))
        ->capture_default_str();
    build
        ->add_option("--shard-tokens", options->shard_tokens,
                     "Approximate number of tokens per shard")
        ->check(CLI::Range(1'000, 100'000'000))
        ->capture_default_str();
    build->callback([options] {
        const Corpus built = build_corpus(*options);
        fmt::print("{}: {} documents, {} sentences, {} tokens of {} kinds in {} shard{}\n",
                   options->folder.string(), built.documents, built.sentences, built.tokens,
                   built.vocabulary, built.shards.size(), built.shards.size() == 1 ? "" : "s");
    });
}

}  // namespace dedloc::cli

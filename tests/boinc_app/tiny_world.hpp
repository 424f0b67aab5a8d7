// A tiny model and a generated corpus that it can learn from in seconds.
#pragma once

#include <vector>

#include "peer/base/random.hpp"
#include "peer/formats/albert_layout.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/formats/shard.hpp"

namespace dedloc::test {

struct TinyShape {
    std::uint64_t vocabulary = 60;
    std::uint64_t width = 32;
    std::uint64_t layers = 2;
    std::uint64_t length = 32;
    std::uint64_t embedding = 0;  ///< 0: the width
    std::uint64_t heads = 2;
};

inline formats::RunFile tiny_run(const TinyShape& shape = {}) {
    formats::RunFile run;
    run.name = "tiny";
    run.seed = 42;
    run.model =
        formats::AlbertSpec{.vocabulary = shape.vocabulary,
                            .embedding = shape.embedding != 0 ? shape.embedding : shape.width,
                            .hidden = shape.width,
                            .layers = shape.layers,
                            .heads = shape.heads,
                            .ffn = 4 * shape.width,
                            .positions = shape.length};
    run.sequence_length = shape.length;
    run.target_batch = 12;
    run.steps = 100;
    run.optimizer.learning_rate = 0.02;
    run.optimizer.warmup_steps = 5;
    run.flops_per_sample =
        formats::albert_flops_per_sample(formats::albert_of(run), run.sequence_length);
    run.tensors = formats::albert_tensors(formats::albert_of(run));
    return run;
}

/// Documents with word frequencies as unequal as in real text: half of the words are in the first
/// eighth of the vocabulary. A model learns that first. A sentence has 3 to 7 tokens, a document
/// has `sentences` sentences.
inline formats::Shard skewed_shard(const formats::RunFile& run, std::uint64_t seed,
                                   std::uint64_t sentences = 8) {
    Random random{seed};
    constexpr std::uint32_t kFirstWord = 5;
    const auto vocabulary = static_cast<std::uint32_t>(formats::albert_of(run).vocabulary);
    const auto draw_word = [&] {
        const double x = random.uniform();
        const auto word = static_cast<std::uint32_t>(x * x * x * (vocabulary - kFirstWord));
        return static_cast<std::uint16_t>(kFirstWord + word);
    };
    formats::ShardBuilder builder{vocabulary};
    for (int document = 0; document < 40; ++document) {
        for (std::uint64_t sentence = 0; sentence < sentences; ++sentence) {
            std::vector<std::uint16_t> tokens(3 + random.below(5));
            for (std::uint16_t& token : tokens) token = draw_word();
            builder.add_sentence(tokens);
        }
        builder.end_document();
    }
    return std::move(builder).finish();
}

}  // namespace dedloc::test

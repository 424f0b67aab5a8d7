#include "project_server/runs/run_tokenizer.hpp"

#include <fmt/format.h>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "project_server/backbone/run_files.hpp"
#include "project_server/huggingface/sentencepiece_model.hpp"
#include "project_server/huggingface/tokenizer_files.hpp"
#include "project_server/huggingface/tokenizer_reader.hpp"

namespace dedloc::runs {

huggingface::TokenizerSpec run_tokenizer(const std::filesystem::path& folder,
                                         const formats::SpecialTokens& special) {
    const backbone::RunFiles files{.folder = folder, .run = {}, .id = {}};
    if (std::filesystem::exists(files.tokenizer_rules())) {
        return huggingface::parse_tokenizer(files.tokenizer_rules().string(),
                                            platform::read_text(files.tokenizer_rules()));
    }
    if (!std::filesystem::exists(files.tokenizer())) {
        throw InputError(fmt::format("{} has no tokenizer", folder.string()));
    }
    const Buffer bytes = platform::read_file(files.tokenizer(), backbone::kMaxTokenizerBytes);
    return huggingface::sentencepiece_spec(huggingface::parse_sentencepiece(bytes), special);
}

}  // namespace dedloc::runs

// A tokenizer is found in two steps: which files there are and which of them counts, then what they
// say together. Where transformers 4 and 5 read the same files differently, the folder is refused:
// it does not say which ids its model was trained on.
#include "project_server/tokenizer/model_tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "peer/base/bytes.hpp"
#include "peer/base/error.hpp"
#include "peer/base/utf8.hpp"
#include "peer/formats/json_fields.hpp"
#include "peer/platform/files.hpp"
#include "project_server/huggingface/sentencepiece_model.hpp"
#include "project_server/huggingface/tokenizer_config.hpp"
#include "project_server/huggingface/tokenizer_files.hpp"
#include "project_server/huggingface/tokenizer_reader.hpp"
#include "project_server/tokenizer/characters.hpp"
#include "project_server/tokenizer/divider.hpp"
#include "project_server/tokenizer/normaliser.hpp"

namespace dedloc::tokenizer {
namespace {

namespace fs = std::filesystem;
using namespace huggingface;

constexpr std::uint64_t kUnigram = 1;
constexpr std::uint64_t kControl = 3;
constexpr std::uint64_t kUserDefined = 4;
constexpr double kNumberCommaPenalty = 100;
constexpr const char* kJson = "tokenizer.json";

/// The files of one folder.
struct Files {
    fs::path model;   ///< the SentencePiece model; empty: tokenizer.json is the whole tokenizer
    fs::path json;    ///< tokenizer.json; empty: none
    fs::path config;  ///< tokenizer_config.json; empty: none
    fs::path special_tokens_map;
    fs::path added_tokens;
    fs::path model_config;  ///< config.json; empty: none
};

fs::path if_file(const fs::path& path) {
    return fs::is_regular_file(path) ? path : fs::path{};
}

void find_beside(const fs::path& folder, Files& files) {
    files.config = if_file(folder / "tokenizer_config.json");
    files.special_tokens_map = if_file(folder / "special_tokens_map.json");
    files.added_tokens = if_file(folder / "added_tokens.json");
    files.model_config = if_file(folder / "config.json");
}

Files find_files(const fs::path& path) {
    Files files;
    const bool is_folder = fs::is_directory(path);
    const fs::path folder = is_folder ? path : fs::absolute(path).parent_path();
    const bool is_json = !is_folder && path.extension() == ".json";
    if (is_json) {
        files.json = path;
        if (path.filename() == kJson) find_beside(folder, files);
        return files;
    }
    const fs::path own = folder / "spiece.model";
    // A tokenizer.model is that of a corpus.
    files.model = is_folder ? (fs::is_regular_file(own) ? own : folder / "tokenizer.model") : path;
    std::error_code differs;
    if (!is_folder && fs::exists(own) && !fs::equivalent(own, path, differs)) return files;
    files.json = if_file(folder / kJson);
    if (is_folder && !files.json.empty() && !fs::is_regular_file(files.model)) files.model.clear();
    find_beside(folder, files);
    return files;
}

/// A text field of config.json; empty if it has none.
std::string field_of(const fs::path& file, const char* name) {
    if (file.empty()) return {};
    const auto parsed =
        formats::parse_json(file.string(), platform::read_text(file), kMaxTokenizerBytes);
    formats::JsonFields fields{parsed, "", file.string()};
    return fields.has(name) && parsed[name].IsString() ? fields.text(name, 254) : std::string{};
}

[[noreturn]] void refuse(const fs::path& file, const std::string& sentence) {
    throw InputError(fmt::format("{}: {}", file.string(), sentence));
}

/// Whether a piece ends with a digit and a comma.
bool is_number_comma(std::string_view piece) {
    if (piece.size() < 2 || piece.back() != ',') return false;
    std::size_t at = piece.size() - 1;
    return is_digit(previous_character(piece, at));
}

const AddedToken* find(const std::vector<AddedToken>& tokens, std::string_view content) {
    const auto found = std::ranges::find(tokens, content, &AddedToken::content);
    return found == tokens.end() ? nullptr : &*found;
}

enum class IfKnown : std::uint8_t { kKeep, kReplace };

/// Adds a token, with the id of its piece.
void add(TokenizerSpec& spec, AddedToken token, IfKnown if_known, const fs::path& source) {
    if (token.content.empty()) return;
    const auto piece = std::ranges::find(spec.pieces, token.content, &ScoredPiece::text);
    if (piece == spec.pieces.end()) {
        refuse(source, fmt::format("the token '{}' is no piece of the model: tokens beside the "
                                   "model's are not implemented",
                                   token.content));
    }
    token.id = static_cast<std::uint16_t>(piece - spec.pieces.begin());
    const auto known = std::ranges::find(spec.added, token.content, &AddedToken::content);
    if (known == spec.added.end()) {
        spec.added.push_back(std::move(token));
    } else if (if_known == IfKnown::kReplace) {
        *known = std::move(token);
    }
}

/// Adds special tokens, and puts all added tokens in the order of their ids.
void add_special(TokenizerSpec& spec, const std::map<std::string, AddedToken>& special,
                 IfKnown if_known, const fs::path& source) {
    for (const auto& [field, token] : special) add(spec, token, if_known, source);
    std::ranges::stable_sort(spec.added, {}, &AddedToken::id);
}

/// The names of AlbertTokenizer's special tokens, unless the configuration has others.
std::map<std::string, AddedToken> special_tokens_of(const TokenizerConfig& config) {
    static const std::map<std::string, std::string> kUsual{
        {"bos_token", "[CLS]"}, {"cls_token", "[CLS]"},   {"eos_token", "[SEP]"},
        {"sep_token", "[SEP]"}, {"mask_token", "[MASK]"}, {"pad_token", "<pad>"},
        {"unk_token", "<unk>"}};
    std::map<std::string, AddedToken> tokens = config.special_tokens;
    for (const auto& [field, content] : kUsual) {
        AddedToken token{.content = content, .is_special = true};
        token.takes_space_before = field == "mask_token";
        tokens.try_emplace(field, std::move(token));
    }
    return tokens;
}

std::uint16_t id_in(const TokenizerSpec& spec, const std::map<std::string, AddedToken>& tokens,
                    const char* field, const fs::path& source) {
    const AddedToken* const found = find(spec.added, tokens.at(field).content);
    if (found == nullptr) {
        refuse(source, fmt::format("there is no {} '{}'", field, tokens.at(field).content));
    }
    return found->id;
}

formats::SpecialTokens ids_of(const TokenizerSpec& spec,
                              const std::map<std::string, AddedToken>& tokens,
                              const fs::path& source) {
    const auto id = [&](const char* field) { return id_in(spec, tokens, field, source); };
    const formats::SpecialTokens ids{.pad = id("pad_token"),
                                     .unknown = id("unk_token"),
                                     .cls = id("cls_token"),
                                     .sep = id("sep_token"),
                                     .mask = id("mask_token")};
    const std::set distinct{ids.pad, ids.unknown, ids.cls, ids.sep, ids.mask};
    if (distinct.size() != 5) refuse(source, "one token has two special meanings");
    if (ids.unknown != spec.unknown) refuse(source, "unk_token is not the model's unknown piece");
    return ids;
}

/// As transformers 4 converts a spiece.model of AlbertTokenizer.
TokenizerSpec convert(const SentencePieceModel& model, const AlbertRules& rules,
                      const fs::path& file) {
    if (model.algorithm != kUnigram) refuse(file, "is not a Unigram model, as ALBERT's is");
    TokenizerSpec spec;
    spec.unknown = static_cast<std::uint16_t>(model.unknown);
    if (model.unknown >= model.pieces.size()) refuse(file, "has no piece for unknown text");
    for (const Piece& piece : model.pieces) {
        if (!is_utf8(piece.text)) refuse(file, "has a piece that is not UTF-8");
        const double score = double{piece.score};
        // Like the slow tokenizer, which divides "9," into "9" and ",".
        spec.pieces.push_back(
            {.text = piece.text,
             .score = is_number_comma(piece.text) ? score - kNumberCommaPenalty : score});
        if (piece.type != kControl && piece.type != kUserDefined) continue;
        spec.added.push_back({.content = piece.text,
                              .id = static_cast<std::uint16_t>(spec.pieces.size() - 1),
                              .is_special = piece.type == kControl});
    }
    spec.normaliser.emplace_back(Replace{.pattern = "``", .content = "\""});
    spec.normaliser.emplace_back(Replace{.pattern = "''", .content = "\""});
    if (!rules.keep_accents) {
        spec.normaliser.emplace_back(UnicodeForm{UnicodeForm::Form::kNfkd});
        spec.normaliser.emplace_back(StripAccents{});
    }
    if (rules.lower_case) spec.normaliser.emplace_back(Lowercase{});
    if (!model.charsmap.empty()) spec.normaliser.emplace_back(Precompiled{model.charsmap});
    spec.normaliser.emplace_back(ReplaceBlanks{" "});
    spec.divisions.emplace_back(Metaspace{});
    return spec;
}

/// transformers 5 builds an AlbertTokenizer from its configuration alone, and 4 from tokenizer.json
/// alone.
void refuse_contradiction(const TokenizerSpec& spec, const TokenizerConfig& config,
                          const Files& files) {
    const auto differ = [&](const char* field, const std::optional<bool>& said, bool done) {
        if (!said || *said == done) return;
        refuse(files.config,
               fmt::format("{} is {}, but {} does otherwise: versions of transformers "
                           "differ in which of the two they follow; make both agree",
                           field, *said, files.json.string()));
    };
    differ("do_lower_case", config.lower_case, has_step<Lowercase>(spec));
    differ("keep_accents", config.keep_accents, !has_step<StripAccents>(spec));
    bool adds_prefix = false;
    for (const Division& division : spec.divisions) {
        const auto* const step = std::get_if<Metaspace>(&division);
        adds_prefix = adds_prefix || (step != nullptr && step->prefix != Metaspace::Prefix::kNever);
    }
    differ("add_prefix_space", config.adds_prefix, adds_prefix);
}

void require_same_pieces(const TokenizerSpec& spec, const SentencePieceModel& model,
                         const Files& files) {
    const auto differ = [&](const std::string& what) {
        refuse(files.json,
               fmt::format("is not the tokenizer of {}: {}", files.model.string(), what));
    };
    if (spec.pieces.size() != model.pieces.size()) {
        differ(fmt::format("it has {} pieces, not {}", spec.pieces.size(), model.pieces.size()));
    }
    for (std::size_t i = 0; i < spec.pieces.size(); ++i) {
        if (spec.pieces[i].text != model.pieces[i].text) {
            differ(fmt::format("the piece {} is '{}', not '{}'", i, spec.pieces[i].text,
                               model.pieces[i].text));
        }
    }
}

bool is_albert(std::string_view name) {
    return name == "AlbertTokenizer" || name == "AlbertTokenizerFast";
}
bool is_plain(std::string_view name) {
    return name == "PreTrainedTokenizerFast" || name == "TokenizersBackend";
}

TokenizerConfig read_config(const Files& files) {
    TokenizerConfig config;
    if (!files.config.empty()) {
        config = parse_tokenizer_config(files.config.string(), platform::read_text(files.config));
    }
    if (!files.special_tokens_map.empty() && !config.lists_added) {
        parse_special_tokens_map(files.special_tokens_map.string(),
                                 platform::read_text(files.special_tokens_map), config);
    }
    if (config.tokenizer_class.empty()) {
        config.tokenizer_class = field_of(files.model_config, "tokenizer_class");
    }
    if (config.tokenizer_class.empty()) config.tokenizer_class = "AlbertTokenizer";
    const std::string& name = config.tokenizer_class;
    const fs::path& own = files.model.empty() ? files.json : files.model;
    const fs::path& source = files.config.empty() ? own : files.config;
    if (!is_albert(name) && !is_plain(name)) {
        refuse(source, fmt::format("the tokenizer_class '{}' is not implemented", name));
    }
    if (is_plain(name) && files.json.empty()) {
        refuse(source, fmt::format("the tokenizer_class '{}' needs a tokenizer.json", name));
    }
    return config;
}

/// Older versions of transformers list added tokens there, newer ones read it only if
/// tokenizer_config.json has no such list. It may repeat tokens that are there anyway.
void refuse_further_tokens(const TokenizerSpec& spec, const fs::path& file) {
    if (file.empty()) return;
    for (const auto& [token, id] : parse_added_tokens(file.string(), platform::read_text(file))) {
        const AddedToken* const known = find(spec.added, token);
        if (known == nullptr || known->id != id) {
            refuse(file, fmt::format("adds the token '{}' with the id {}, which the other files of "
                                     "the tokenizer do not: not implemented",
                                     token, id));
        }
    }
}

/// Adds the tokens of the files beside the model.
void add_tokens(const TokenizerConfig& config, const std::map<std::string, AddedToken>& special,
                const Files& files, TokenizerSpec& spec) {
    const fs::path& own = files.model.empty() ? files.json : files.model;
    const fs::path& source = files.config.empty() ? own : files.config;
    const bool is_converted = files.json.empty();
    add_special(spec, special, is_converted ? IfKnown::kReplace : IfKnown::kKeep, source);
    for (const AddedToken& token : config.added) add(spec, token, IfKnown::kReplace, source);
    for (const AddedToken& token : config.further) add(spec, token, IfKnown::kKeep, source);
    std::ranges::stable_sort(spec.added, {}, &AddedToken::id);
    refuse_further_tokens(spec, files.added_tokens);
}

/// Refuses regular expressions and tables that cannot be used.
void check_rules(const TokenizerSpec& spec, const fs::path& file) {
    try {
        Normaliser{spec.normaliser};
        Divider{spec.divisions};
    } catch (const InputError& error) {
        refuse(file, error.what());
    }
}

/// Reads what the files beside the SentencePiece model say.
void read_beside(const Files& files, const SentencePieceModel& model, ModelTokenizer& found) {
    const TokenizerConfig config = read_config(files);
    if (files.json.empty() && config.adds_prefix && !*config.adds_prefix) {
        refuse(files.config,
               "add_prefix_space is false, which versions of transformers treat "
               "differently: not implemented");
    }
    TokenizerSpec spec;
    if (!files.json.empty()) {
        spec = parse_tokenizer(files.json.string(),
                               platform::read_text(files.json, kMaxTokenizerJsonBytes));
        require_same_pieces(spec, model, files);
        check_rules(spec, files.json);
        if (is_albert(config.tokenizer_class)) refuse_contradiction(spec, config, files);
    } else {
        spec = convert(model,
                       {.lower_case = config.lower_case.value_or(true),
                        .keep_accents = config.keep_accents.value_or(false)},
                       files.model);
    }
    const fs::path& source = files.config.empty() ? files.model : files.config;
    const auto special = special_tokens_of(config);
    add_tokens(config, special, files, spec);
    found.special = ids_of(spec, special, source);
    found.source = (files.json.empty() ? source : files.json).string();
    found.spec = std::move(spec);
}

/// The special tokens of a tokenizer.json: those that its configuration names, else those around
/// a text, else those with usual names.
std::map<std::string, AddedToken> special_tokens_of(const TokenizerConfig& config,
                                                    const TokenizerFile& file) {
    std::map<std::string, AddedToken> tokens = config.special_tokens;
    const auto name = [&](const char* field, const std::string& content) {
        const AddedToken* const known = find(file.spec.added, content);
        AddedToken token{.content = content, .is_special = true};
        tokens.try_emplace(field, known != nullptr ? *known : std::move(token));
    };
    const auto name_usual = [&](const char* field, std::initializer_list<const char*> usual) {
        for (const char* const content : usual) {
            if (find(file.spec.added, content) != nullptr) return name(field, content);
        }
        name(field, *usual.begin());
    };
    name("unk_token", file.spec.pieces[file.spec.unknown].text);
    if (file.around) {
        name("cls_token", file.spec.pieces[file.around->before].text);
        name("sep_token", file.spec.pieces[file.around->after].text);
    }
    name_usual("cls_token", {"[CLS]", "<cls>", "<s>"});
    name_usual("sep_token", {"[SEP]", "<sep>", "</s>"});
    name_usual("pad_token", {"<pad>", "[PAD]"});
    name_usual("mask_token", {"[MASK]", "<mask>"});
    return tokens;
}

/// Reads a tokenizer.json that has no SentencePiece model.
void read_alone(const Files& files, ModelTokenizer& found) {
    found.file = files.json;
    found.source = files.json.string();
    std::string bytes = platform::read_text(files.json, kMaxTokenizerJsonBytes);
    const TokenizerFile file = read_tokenizer_file(files.json.string(), bytes);
    const bool is_configured = !files.config.empty() || !files.special_tokens_map.empty();
    const TokenizerConfig config = is_configured ? read_config(files) : TokenizerConfig{};
    const auto special = special_tokens_of(config, file);
    TokenizerSpec spec = file.spec;
    add_tokens(config, special, files, spec);
    const fs::path& source = files.config.empty() ? files.json : files.config;
    found.special = ids_of(spec, special, source);
    const Around around{.before = found.special.cls, .after = found.special.sep};
    if (file.around && *file.around != around) {
        refuse(files.json,
               "its post_processor puts other tokens around a text than cls_token and "
               "sep_token");
    }
    check_rules(spec, files.json);
    const bool is_as_given = spec == file.spec && file.around;
    found.json = is_as_given ? std::move(bytes) : write_tokenizer(spec, found.special);
    found.spec = std::move(spec);
}

}  // namespace

ModelTokenizer read_model_tokenizer(const fs::path& path, const std::optional<AlbertRules>& rules) {
    const Files files = find_files(path);
    ModelTokenizer found;
    if (files.model.empty()) {
        if (rules) refuse(files.json, "says itself what it does to capitals and accents");
        read_alone(files, found);
        return found;
    }
    if (!fs::is_regular_file(files.model)) {
        throw InputError(
            fmt::format("{} has neither a spiece.model nor a tokenizer.json", path.string()));
    }
    found.file = files.model;
    found.model = platform::read_text(files.model, kMaxTokenizerBytes);
    const bool is_of_albert = field_of(files.model_config, "model_type") == "albert";
    const bool has_own = !files.json.empty() || !files.config.empty() ||
                         !files.special_tokens_map.empty() || !files.added_tokens.empty() ||
                         is_of_albert;
    if (!has_own && !rules) return found;
    if (has_own && rules) {
        throw InputError(
            fmt::format("{} says itself what its tokenizer does to capitals and accents",
                        (files.model.parent_path()).string()));
    }
    const auto model = parse_sentencepiece(bytes_of(found.model));
    if (has_own) {
        read_beside(files, model, found);
    } else {
        TokenizerSpec spec = convert(model, *rules, files.model);
        const auto special = special_tokens_of({});
        add_special(spec, special, IfKnown::kReplace, files.model);
        found.special = ids_of(spec, special, files.model);
        found.spec = std::move(spec);
    }
    // What SentencePiece alone does as well needs no other tokenizer.
    if (*found.spec == sentencepiece_spec(model, found.special)) found.spec.reset();
    return found;
}

}  // namespace dedloc::tokenizer

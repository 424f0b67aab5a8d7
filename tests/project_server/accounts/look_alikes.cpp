#include "tests/project_server/accounts/look_alikes.hpp"

#include <array>
#include <map>
#include <set>

#include "peer/base/random.hpp"

namespace dedloc::server {
namespace {

using Texts = std::vector<std::string>;

/// Characters that look like a letter: accents (NFC), dotless and dotted i, other scripts,
/// mathematical.
const std::map<char, Texts>& twins() {
    static const std::map<char, Texts> all{
        {'a', {"á", "à", "â", "ä", "å", "ā", "ą", "Á", "а", "α", "ɑ", "ª", "𝐚"}},
        {'c', {"ç", "ć", "č", "с", "ⅽ"}},
        {'e', {"é", "è", "ê", "ë", "ē", "ę", "É", "е", "ℯ"}},
        {'g', {"ğ", "ɡ"}},
        {'i', {"í", "ì", "î", "ï", "ı", "İ", "і", "ⅰ"}},
        {'j', {"ј", "ĵ"}},
        {'k', {"K", "к"}},
        {'l', {"ł", "ⅼ", "ℓ", "ľ"}},
        {'m', {"ⅿ", "м"}},
        {'o', {"ó", "ò", "ô", "ö", "ø", "ō", "О", "о", "º", "ﬀ"}},
        {'p', {"р", "ṗ"}},
        {'r', {"ř", "г"}},
        {'s', {"ſ", "š", "ş", "ѕ", "ß"}},
        {'x', {"х", "×", "ⅹ"}},
        {'@', {"＠", "﹫", "%40", "@@", "＠example.net@"}},
        {'.', {"．", "。", "․", "%2e", ".."}}};
    return all;
}

const Texts kMarks{"\u0301", "\u0300", "\u0308", "\u0302", "\u0327", "\u0338", "\u20DD"};
const Texts kInvisible{"\u200B",
                       "\u200C",
                       "\u200D",
                       "\uFEFF",
                       "\u00AD",
                       "\u2060",
                       "\u180E",
                       "\u202E",
                       "\u061C",
                       "\uFE0F",
                       std::string(1, '\0'),
                       "\x01",
                       "\x7F",
                       "\xC3",
                       "\xFF",
                       "\xC0\x80",
                       "\xED\xA0\x80",
                       "%00",
                       "%0d%0a"};
const Texts kBlanks{" ",      "\t",     "\r",     "\n",     "\v",     "\f",
                    "\u00A0", "\u3000", "\u2003", "\u2028", "\u0085", "  \t"};
/// Patterns of addresses: the star is replaced by the address.
const Texts kFrames{"\"*\"",
                    "<*>",
                    "Alice <*>",
                    "*<eve@example.net>",
                    "mailto:*",
                    "*,eve@example.net",
                    "eve@example.net,*",
                    "*;eve@example.net",
                    "* eve@example.net",
                    "*@example.net",
                    "eve@example.net@*",
                    "@example.net:*",
                    "example.net!*",
                    "*(comment)",
                    "(comment)*",
                    "*\r\nBcc: eve@example.net",
                    "*\nRCPT TO:<eve@example.net>",
                    "*>\r\nRCPT TO:<eve@example.net",
                    "*\r\n.\r\nMAIL FROM:<eve@example.net>",
                    "*.",
                    "*.example.net",
                    "*%",
                    "*_",
                    "' or email_addr='*",
                    "*' -- ",
                    "*\\",
                    "-*",
                    "|*",
                    "&*",
                    "+*"};
const Texts kLocalFrames{"\"*\"",         "\\*", "*(c)", "(c)*", "*+tag",
                         "*%example.org", "*.",  ".*",   "*/x"};

const std::string& one_of(const Texts& texts, Random& random) {
    return texts[random.below(texts.size())];
}

std::string framed(const std::string& frame, const std::string& text) {
    std::string out = frame;
    const auto star = out.find('*');
    return out.replace(star, 1, text);
}

std::string full_width(char c) {
    const int code = 0xFF01 + (c - '!');
    return {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
            static_cast<char>(0x80 | (code & 0x3F))};
}

bool is_small(char c) {
    return c >= 'a' && c <= 'z';
}

/// Changes one character.
std::string with_twin(const std::string& text, Random& random) {
    const std::size_t at = random.below(text.size());
    const char c = text[at];
    const std::string before = text.substr(0, at);
    const std::string after = text.substr(at + 1);
    const auto kind = random.below(6);
    if (kind == 0 && is_small(c)) return before + static_cast<char>(c - 'a' + 'A') + after;
    if (kind == 1 && c > ' ' && c < 0x7F) return before + full_width(c) + after;
    if (kind == 2 && is_small(c)) return before + c + one_of(kMarks, random) + after;
    const auto found = twins().find(c);
    return found == twins().end() ? text : before + one_of(found->second, random) + after;
}

std::string with_capitals(std::string text, Random& random) {
    for (char& c : text) {
        if (is_small(c) && random.below(2) == 0) c = static_cast<char>(c - 'a' + 'A');
    }
    return text;
}

std::string changed(const std::string& text, Random& random) {
    const auto at = text.find('@');
    switch (random.below(9)) {
        case 0:
            return with_capitals(text, random);
        case 1:
            return text + one_of(kBlanks, random);
        case 2:
            return one_of(kBlanks, random) + text;
        case 3:
            return framed(one_of(kFrames, random), text);
        case 4:
            if (at == std::string::npos) return text;
            return framed(one_of(kLocalFrames, random), text.substr(0, at)) + text.substr(at);
        case 5: {
            std::string out = text;
            return out.insert(random.below(text.size() + 1), one_of(kInvisible, random));
        }
        case 6:
            return random.below(8) == 0 ? text + std::string(300, 'x') : text + "x";
        default:
            return with_twin(text, random);
    }
}

std::string trimmed(const std::string& text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == std::string::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

}  // namespace

std::vector<std::string> look_alikes(const std::vector<std::string>& addresses, std::size_t count,
                                     std::uint64_t seed) {
    Random random{seed};
    std::set<std::string> found;
    while (found.size() < count) {
        std::string text = addresses[random.below(addresses.size())];
        for (auto changes = 1 + random.below(3); changes > 0; --changes) {
            text = changed(text, random);
        }
        found.insert(text);
    }
    return {found.begin(), found.end()};
}

bool names(const std::string& typed, const std::string& address) {
    std::string text = trimmed(typed);
    if (text.size() != address.size()) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const char small = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        if (small != address[i]) return false;
    }
    return true;
}

}  // namespace dedloc::server

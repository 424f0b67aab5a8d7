#include "project_server/database/suspicions.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace dedloc::server {
namespace {

constexpr std::array<const char*, 3> kSources{"swarm", "receipt", "ticket"};
constexpr std::size_t kMaxWhat = 120;
constexpr std::size_t kMaxDetail = 600;
constexpr std::size_t kBriefKey = 8;  ///< digits of a key in a sentence: PeerKey::brief()

std::string plain(std::string text, std::size_t limit) {
    text.resize(std::min(text.size(), limit));
    for (char& c : text) {
        const auto code = static_cast<unsigned char>(c);
        if (code < 0x20 || code > 0x7E) c = '?';
    }
    return text;
}

bool is_key(std::string_view word) {
    return word.size() >= kBriefKey &&
           std::ranges::all_of(word, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

/// Deletes the oldest rows of the account until one more fits.
void make_place(Database& database, std::int64_t user) {
    const auto row =
        database.query_one("select count(*) as n from dedloc_suspicion where userid = ?", {user});
    const std::int64_t surplus = row->integer("n") - kMaxSuspicions + 1;
    if (surplus <= 0) return;
    database.execute("delete from dedloc_suspicion where userid = ? order by last_seen, id limit ?",
                     {user, surplus});
}

}  // namespace

const char* name_of(SuspicionSource source) {
    return kSources.at(static_cast<std::size_t>(source));
}

void record_suspicion(Database& database, const Suspicion& suspicion, std::int64_t now) {
    const std::string source = name_of(suspicion.source);
    const std::string what = plain(suspicion.what, kMaxWhat);
    const std::string detail = plain(suspicion.detail, kMaxDetail);
    const auto changed = database.execute(
        "update dedloc_suspicion set detail = ?, step = ?, evidence = if(? = '', evidence, ?), "
        "times = times + ?, last_seen = ? where source = ? and runid = ? and userid = ? and "
        "hostid = ? and peer_key = ? and what = ?",
        {detail, suspicion.step, suspicion.evidence, suspicion.evidence, suspicion.times, now,
         source, suspicion.run, suspicion.user, suspicion.host, suspicion.key, what});
    if (changed > 0) return;
    make_place(database, suspicion.user);
    database.execute(
        "insert into dedloc_suspicion (source, runid, userid, hostid, peer_key, what, detail, "
        "step, evidence, times, first_seen, last_seen) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "on duplicate key update times = times + values(times), last_seen = values(last_seen)",
        {source, suspicion.run, suspicion.user, suspicion.host, suspicion.key, what, detail,
         suspicion.step, suspicion.evidence, suspicion.times, now, now});
}

std::string kind_of_fault(const std::string& sentence) {
    std::string kind;
    for (std::size_t at = 0; at < sentence.size();) {
        const auto end = std::min(sentence.find(' ', at), sentence.size());
        std::string word = sentence.substr(at, end - at);
        at = end + 1;
        if (is_key(word)) continue;
        bool was_digit = false;
        std::string plain_word;
        for (const char c : word) {
            const bool is_digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
            if (!is_digit) plain_word += c;
            if (is_digit && !was_digit) plain_word += '#';
            was_digit = is_digit;
        }
        kind += (kind.empty() ? "" : " ") + plain_word;
    }
    return kind;
}

}  // namespace dedloc::server

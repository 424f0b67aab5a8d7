#include "validators/creditor.hpp"

// Must precede BOINC's other headers: it defines the macros that they depend on.
#include <config.h>

#include <boinc_db.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/base/log.hpp"
#include "peer/formats/receipt.hpp"
#include "validators/credit_batch.hpp"

namespace dedloc::validation {
namespace {

constexpr int kKeysAtOnce = 500;
constexpr int kMessagesAtOnce = 100;
constexpr int kAttempts = 3;  ///< attempts at a transaction that conflicts with another one

bool is_key(const std::string& text) {
    PeerKey key;
    return from_hex(text, key.bytes);
}

/// A name that may be inserted into a statement: that of any result which dedloc-work made.
bool is_result_name(std::string_view text) {
    return !text.empty() && text.size() < 255 && std::ranges::all_of(text, [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
    });
}

/// The name in the <result_name> element that the client writes before the app's text; empty if
/// there is none.
std::string result_name_in(std::string_view xml) {
    constexpr std::string_view kOpen = "<result_name>";
    const auto begin = xml.find(kOpen);
    if (begin == std::string_view::npos) return {};
    const auto end = xml.find("</result_name>", begin);
    if (end == std::string_view::npos) return {};
    const auto name = xml.substr(begin + kOpen.size(), end - begin - kOpen.size());
    return is_result_name(name) ? std::string{name} : std::string{};
}

}  // namespace

Creditor::Creditor(BoincConnection& connection, CreditorOptions options)
    : connection_(connection), options_(std::move(options)) {}

CreditReport Creditor::pass() {
    CreditReport report;
    reconsider_withheld();
    for (const auto& run : connection_.query("select id, credit_per_sample from dedloc_run")) {
        const auto id = std::strtoll(run[0].c_str(), nullptr, 10);
        const double rate = std::strtod(run[1].c_str(), nullptr);
        std::string last;
        for (bool is_more = true; is_more && !options_.must_stop();) {
            const auto keys = connection_.query(
                fmt::format("select distinct peer_key from dedloc_contribution where "
                            "credit_state = {} and runid = {} and peer_key > '{}' "
                            "order by peer_key limit {}",
                            static_cast<int>(CreditState::kPending), id, last, kKeysAtOnce));
            for (const auto& key : keys) {
                if (options_.must_stop()) break;
                credit_key(id, rate, key[0], report);
            }
            is_more = keys.size() == kKeysAtOnce && is_key(keys.back()[0]);
            if (is_more) last = keys.back()[0];
        }
    }
    return report;
}

CreditReport Creditor::heed_messages() {
    CreditReport report;
    const auto messages = connection_.query(
        fmt::format("select id, hostid, left(xml, 1000) from msg_from_host where handled = 0 and "
                    "variety = '{}' order by id limit {}",
                    formats::kCreditMessage, kMessagesAtOnce));
    if (messages.empty()) return report;
    std::set<std::pair<std::string, std::string>> jobs;  // host and result
    std::vector<std::string> ids;
    for (const auto& message : messages) {
        ids.push_back(message[0]);
        const std::string name = result_name_in(message[2]);
        if (!name.empty()) jobs.emplace(message[1], name);
    }
    for (const auto& [host, name] : jobs) {
        if (options_.must_stop()) return report;
        for (const auto& row : connection_.query(
                 fmt::format("select t.runid, t.peer_key, d.credit_per_sample from result r join "
                             "dedloc_ticket t on t.resultid = r.id join dedloc_run d on "
                             "d.id = t.runid where r.name = '{}' and r.hostid = {}",
                             name, host))) {
            credit_key(std::strtoll(row[0].c_str(), nullptr, 10),
                       std::strtod(row[2].c_str(), nullptr), row[1], report);
        }
    }
    // Last: after a crash they are heeded once more, and find nothing to credit.
    connection_.execute(
        fmt::format("update msg_from_host set handled = 1 where id in ({})", fmt::join(ids, ", ")));
    options_.passing("messages handled");
    return report;
}

/// Contributions whose revocation has been withdrawn (`unban`) are pending again.
void Creditor::reconsider_withheld() {
    const auto forgiven = connection_.query(
        "select w.runid, w.peer_key, w.kind, w.subject from dedloc_withheld w left join "
        "dedloc_revocation r on r.kind = w.kind and r.subject = w.subject where r.kind is null");
    for (const auto& row : forgiven) {
        if (!is_key(row[1]) || !is_plain_word(row[2]) || !is_plain_word(row[3])) continue;
        BoincTransaction transaction;
        connection_.execute(fmt::format(
            "update dedloc_contribution set credit_state = {} where credit_state = {} and "
            "runid = {} and peer_key = '{}'",
            static_cast<int>(CreditState::kPending), static_cast<int>(CreditState::kWithheld),
            row[0], row[1]));
        options_.passing("withheld rows pending again");
        connection_.execute(fmt::format(
            "delete from dedloc_withheld where runid = {} and peer_key = '{}' and kind = '{}' and "
            "subject = '{}'",
            row[0], row[1], row[2], row[3]));
        options_.passing("withholding deleted");
        transaction.commit();
        log_info(
            "the contributions of key {} to run {} are paid again: {} {} is not banned any more",
            row[1].substr(0, 8), row[0], row[2], row[3]);
    }
}

void Creditor::credit_key(std::int64_t run, double credit_per_sample, const std::string& key,
                          CreditReport& report) {
    if (!is_key(key)) {
        log_warning("run {} has contributions of an invalid key", run);
        return;
    }
    const std::uint64_t before = report.contributions;
    for (int attempt = 1;;) {
        try {
            CreditBatch batch{connection_, options_, run, credit_per_sample, key};
            if (!batch.credit(report)) break;
            attempt = 1;
        } catch (const Error& error) {
            // A key that cannot be credited must not block the others.
            if (boinc_db.ping() != 0) throw;
            if (++attempt <= kAttempts) continue;
            log_warning("Key {} of run {} cannot be credited now: {}", key.substr(0, 8), run,
                        error.what());
            break;
        }
        if (options_.must_stop()) break;
    }
    if (report.contributions > before) ++report.seats;
}

}  // namespace dedloc::validation

// A row's next attempt is scheduled before the attempt begins, so one that kills the process is not
// repeated at once. Each attempt has a secret of its own, whose row is deleted if the attempt
// fails: unsent secrets must not use up the few that an account may have.
#include "project_server/accounts/mail_queue.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "project_server/accounts/stored_account.hpp"

namespace dedloc::server {
namespace {

constexpr std::chrono::milliseconds kShortestLook{200};  ///< between two looks at the table
constexpr std::chrono::milliseconds kLongestLook{5'000};
constexpr std::int64_t kLongestPause = 4 * 3'600;

const char* name_of(MailPurpose purpose) {
    return purpose == MailPurpose::kReset ? "reset" : "confirm";
}

}  // namespace

struct Mailer::Waiting {
    std::int64_t id;
    MailPurpose purpose;
    std::int64_t user;      ///< 0 in an empty row, and in one that a former release has written
    std::string email;      ///< the account's when it was asked for
    std::int64_t attempts;  ///< including the one that begins now
};

Mailer::Mailer(MailSettings settings, DatabaseSettings database, Compose compose)
    : settings_(std::move(settings)),
      database_settings_(std::move(database)),
      compose_(std::move(compose)) {
    if (is_on()) thread_ = std::thread{[this] { run(); }};
}

Mailer::~Mailer() {
    {
        const std::lock_guard lock{mutex_};
        stops_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void Mailer::request(Database& database, MailPurpose purpose, const std::string& email) {
    if (!is_on()) return log_warning("an e-mail is not sent: the project sends none");
    const auto account = account_at(database, email);
    const auto now = static_cast<std::int64_t>(unix_now());
    const auto written = in_transaction(database, [&] {
        return database.execute(
            "insert into dedloc_mail (purpose, userid, email, created, next_attempt) select ?, ?, "
            "?, ?, ? from dual where (select count(*) from dedloc_mail) < ? on duplicate key "
            "update email = values(email), next_attempt = values(next_attempt)",
            {name_of(purpose), account ? account->id : 0, account ? account->email : "", now, now,
             kMaxWaitingMail});
    });
    if (written == 0) log_warning("an e-mail is not sent: {} wait already", kMaxWaitingMail);
    {
        const std::lock_guard lock{mutex_};
        has_new_ = true;
    }
    changed_.notify_all();
}

void Mailer::run() {
    for (;;) {
        try {
            if (!database_) database_ = std::make_unique<Database>(database_settings_);
            send_due();
        } catch (const std::exception& error) {
            log_warning("{} E-mail waits.", error.what());
            database_.reset();
        }
        std::unique_lock lock{mutex_};
        const std::chrono::milliseconds pause{settings_.first_pause};
        changed_.wait_for(lock, std::clamp(pause, kShortestLook, kLongestLook),
                          [this] { return stops_ || has_new_; });
        if (stops_) return;
        has_new_ = false;
    }
}

void Mailer::send_due() {
    database_->ensure_connected();
    while (const auto waiting = take_next()) {
        attempt(*waiting);
        const std::lock_guard lock{mutex_};
        if (stops_) return;
    }
}

std::optional<Mailer::Waiting> Mailer::take_next() {
    const auto now = static_cast<std::int64_t>(unix_now());
    return in_transaction(*database_, [&]() -> std::optional<Waiting> {
        const auto row = database_->query_one(
            "select id, purpose, userid, email, attempts from dedloc_mail where next_attempt <= ? "
            "order by "
            "next_attempt, id limit 1 for update",
            {now});
        if (!row) return std::nullopt;
        const Waiting waiting{.id = row->integer("id"),
                              .purpose = row->text("purpose") == name_of(MailPurpose::kReset)
                                             ? MailPurpose::kReset
                                             : MailPurpose::kConfirm,
                              .user = row->integer("userid"),
                              .email = row->text("email"),
                              .attempts = row->integer("attempts") + 1};
        const auto pause = std::min<std::int64_t>(
            settings_.first_pause.count() << std::min<std::int64_t>(waiting.attempts - 1, 20),
            kLongestPause);
        database_->execute("update dedloc_mail set attempts = ?, next_attempt = ? where id = ?",
                           {waiting.attempts, now + std::max<std::int64_t>(pause, 1), waiting.id});
        return waiting;
    });
}

void Mailer::attempt(const Waiting& waiting) {
    const auto finish = [&] {
        in_transaction(*database_, [&] {
            return database_->execute("delete from dedloc_mail where id = ?", {waiting.id});
        });
    };
    const auto secret =
        begin_by_mail(*database_, waiting.purpose, waiting.email, unix_now(), waiting.user);
    if (!secret) return finish();  // no such account any more, or one that has enough secrets
    try {
        MailMessage message = compose_(waiting.purpose, secret->text);
        message.to = secret->address;
        deliver(settings_, message);
        return finish();
    } catch (const MailRefused& error) {
        log_warning("an e-mail is given up: {}", error.what());  // without the address
        finish();
    } catch (const InputError&) {
        log_warning("an e-mail is given up: its account has no usable address");
        finish();
    } catch (const std::exception& error) {
        const bool is_last = waiting.attempts >= kMailAttempts;
        log_warning("an e-mail {}: {}", is_last ? "is given up" : "waits for its next attempt",
                    error.what());
        if (is_last) finish();
    }
    withdraw_secret(*database_, waiting.purpose, *secret);
}

}  // namespace dedloc::server

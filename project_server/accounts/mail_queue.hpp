// Requests for e-mail wait in the table dedloc_mail until a relay has taken the message, so neither
// a relay that is away nor the end of the process loses one. A message goes to the address in the
// account's row, never to the text that a visitor typed.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "project_server/accounts/mail.hpp"
#include "project_server/accounts/mail_tokens.hpp"
#include "project_server/database/database.hpp"

namespace dedloc::server {

/// Requests that may wait at a time.
inline constexpr int kMaxWaitingMail = 1'000;
/// Attempts at one message. The pauses between them double from a minute (MailSettings) to 4 hours
/// at most, so the last one is about 12 hours after the first.
inline constexpr int kMailAttempts = 11;

/// Sends what waits, on a thread of its own, so that no request waits for the relay, nor tells by
/// its time whether a message is sent. A message is sent twice only if the process is killed, or
/// the connection breaks, between the relay's taking it and its row's deletion.
class Mailer {
  public:
    /// The subject and the text of a message with this secret; its address comes from the account.
    using Compose = std::function<MailMessage(MailPurpose purpose, const std::string& secret)>;

    /// `compose` is called on the thread.
    Mailer(MailSettings settings, DatabaseSettings database, Compose compose);
    /// Waits for the attempt in progress; the rest is sent after the next start.
    ~Mailer();
    Mailer(const Mailer&) = delete;
    Mailer& operator=(const Mailer&) = delete;

    /// Whether the project sends e-mail at all.
    bool is_on() const { return !settings_.from.empty(); }
    /// Stores a request to send a new secret to the account with this address (account_at). Returns
    /// when the row is on the disk, with or without an account: the row of an address without one
    /// is empty, so that the time does not tell. An account has one request of a purpose at a time:
    /// a second one makes the next attempt come now. If the account has another address before the
    /// message is sent, the request is dropped: a mailbox that its owner has given up gets nothing,
    /// and no request named the new one. Dropped too, which is logged, if the
    /// project sends no e-mail or kMaxWaitingMail wait. Errors: DatabaseError. Thread: any, with a
    /// connection of its own.
    void request(Database& database, MailPurpose purpose, const std::string& email);

  private:
    struct Waiting;

    void run();
    void send_due();
    std::optional<Waiting> take_next();
    void attempt(const Waiting& waiting);

    const MailSettings settings_;
    const DatabaseSettings database_settings_;
    const Compose compose_;
    std::unique_ptr<Database> database_;  ///< the thread's own connection
    std::mutex mutex_;
    std::condition_variable changed_;
    bool has_new_ = false;  ///< guarded by mutex_
    bool stops_ = false;    ///< guarded by mutex_
    std::thread thread_;
};

}  // namespace dedloc::server

// The network thread: it owns the Peer and reads the clock for it. It waits for events until the
// peer's next deadline and executes the peer's actions with transport, directory, trainer and host.
//
// Wiring in main (objects are destroyed in the reverse order):
//
//     kernels::ThreadWorkers workers(threads);
//     net::EventQueue queue;
//     net::TcpTransport transport(transport_options, queue.sink());
//     net::DhtDirectory directory(directory_options, queue.sink());
//     MyTrainer trainer(..., workers, queue.sink());
//     MyHost host;
//     net::Reactor reactor(config, key, {queue, transport, directory, trainer, host, workers});
//     reactor.start();  ...  reactor.stop();
#pragma once

#include <memory>
#include <string>

#include "kernels/workers.hpp"
#include "peer/net/directory.hpp"
#include "peer/net/event_queue.hpp"
#include "peer/net/transport.hpp"
#include "peer/peer.hpp"
#include "peer/trainer.hpp"

namespace dedloc::net {

/// The program that runs the peer: ledger, receipt, progress, log. peer/events.hpp describes each
/// action. Calls block the network thread, so a call may at most write to a local file or database.
/// An exception ends the reactor: see failed().
class Host {
  public:
    virtual ~Host() = default;

    /// The voter's memory has changed (only with PeerConfig::voter). It must be durable when this
    /// returns, since frames that depend on the vote are sent next.
    virtual void voted(const action::Voted& vote) = 0;
    /// A round has ended. Called before the trainer applies it: write durable data before this
    /// returns.
    virtual void committed(const action::Committed& commit) = 0;
    /// A new generation of voters has begun.
    virtual void generation_begun(const action::GenerationBegun& begun) = 0;
    /// Sign a generation and answer with event::GenerationSigned. Only if
    /// PeerConfig::may_begin_generations.
    virtual void generation_wanted(const action::GenerationWanted& wanted) = 0;
    /// The run is paused or goes on. At a voter it must be durable when this returns.
    virtual void pause_changed(const action::PauseChanged& changed) = 0;
    /// This trainer's turn has changed: show it to the volunteer. A note says it too.
    virtual void turn_changed(const action::TurnChanged& changed) = 0;
    /// A voter has sent a list of revocations: verify it, and give it to the transport.
    virtual void revocations_heard(const action::RevocationsHeard& heard) = 0;
    /// Read the ledger and answer with event::HistoryRead. Backbone only.
    virtual void read_history(const action::ReadHistory& wanted) = 0;
    /// Members have reported the state after a commit. Backbone only.
    virtual void settled(const action::Settled& settled) = 0;
    /// A summary of the swarm, about once a second and after each commit. Backbone only.
    virtual void swarm_seen(const action::SwarmSeen& swarm) = 0;
    /// The run is complete.
    virtual void finished(const action::Finished& finished) = 0;
    /// The swarm refuses this peer for good.
    virtual void refused(const action::Refused& refused) = 0;
    /// The peer has left after event::LeaveRequested.
    virtual void left(const action::Left& left) = 0;
    /// A line for the log.
    virtual void note(const action::Note& note) = 0;
    /// The network thread has ended because of an exception with this message. No further calls
    /// follow; the process should end.
    virtual void failed(const std::string& sentence) = 0;
};

/// The objects that a reactor drives; all must outlive it.
struct ReactorParts {
    EventQueue& queue;                ///< the sink of all other parts
    Transport& transport;             ///< links to other peers
    Directory& directory;             ///< finds other peers
    Trainer& trainer;                 ///< computes contributions and applies averages
    Host& host;                       ///< gets the results
    const kernels::Workers& workers;  ///< threads for the peer's computations on whole vectors
};

/// Runs one peer on its own thread.
class Reactor final {
  public:
    /// Sets config.listening_port to the transport's. Starts no thread.
    Reactor(PeerConfig config, const KeyPair& key, const ReactorParts& parts);
    /// Calls stop().
    ~Reactor();
    Reactor(const Reactor&) = delete;
    Reactor& operator=(const Reactor&) = delete;

    /// Starts the network thread, which joins the directory; asynchronous signals are blocked in
    /// it. Call it once.
    void start();
    /// Posts an event to the queue. event::LeaveRequested leaves the swarm and the directory for a
    /// while, event::ReturnRequested joins them again. Set the transport's listening_port() before
    /// event::ListeningPortChanged. Thread: any.
    void post(Event event);
    /// Leaves the swarm, closes the links, ends the thread and closes the queue within two seconds.
    /// Idempotent. The host must not call it.
    void stop();

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dedloc::net

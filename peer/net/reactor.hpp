// The network thread: the only owner of a Peer and the only place where the protocol meets a clock.
// It waits for events until the peer's next deadline, and does what the peer asks of transport,
// directory, trainer and host.
//
// Wiring (in main; each is destroyed before those above it):
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

/// Whom the peer works for: ledger, receipt, progress, log. Called on the network thread, which
/// waits meanwhile: a call returns soon (a write to a local file or database at most). An exception
/// ends the reactor: see failed().
class Host {
  public:
    virtual ~Host() = default;

    /// Comes before the frames that depend on the vote: a host that has given the peer a memory
    /// (PeerConfig::voter) has it on the disk when this returns.
    virtual void voted(const action::Voted& vote) = 0;
    /// Comes before the trainer is told to apply: what must not be lost is written before it
    /// returns.
    virtual void committed(const action::Committed& commit) = 0;
    virtual void generation_begun(const action::GenerationBegun& begun) = 0;
    /// Only if PeerConfig::may_begin_generations: to be answered by event::GenerationSigned.
    virtual void generation_wanted(const action::GenerationWanted& wanted) = 0;
    /// Only of a backbone: to be answered by event::HistoryRead.
    virtual void read_history(const action::ReadHistory& wanted) = 0;
    virtual void settled(const action::Settled& settled) = 0;
    virtual void swarm_seen(const action::SwarmSeen& swarm) = 0;
    virtual void finished(const action::Finished& finished) = 0;
    virtual void refused(const action::Refused& refused) = 0;
    virtual void left(const action::Left& left) = 0;
    virtual void note(const action::Note& note) = 0;
    /// The network thread has ended because something threw this; nothing more will come. The
    /// process should end.
    virtual void failed(const std::string& sentence) = 0;
};

/// What a reactor drives; all outlive it.
struct ReactorParts {
    EventQueue& queue;
    Transport& transport;
    Directory& directory;
    Trainer& trainer;
    Host& host;
    const kernels::Workers& workers;  ///< for what the peer computes on whole vectors
};

class Reactor final {
  public:
    /// Sets config.listening_port to the transport's. Nothing runs yet.
    Reactor(PeerConfig config, const KeyPair& key, const ReactorParts& parts);
    /// Stops.
    ~Reactor();
    Reactor(const Reactor&) = delete;
    Reactor& operator=(const Reactor&) = delete;

    /// Joins the directory and starts the network thread, with asynchronous signals blocked. Once.
    void start();
    /// Thread: any. To leave the swarm for a while and come back: event::LeaveRequested,
    /// event::ReturnRequested; they leave and join the directory too.
    void post(Event event);
    /// Leaves the swarm, closes the links, ends the thread and closes the queue, all within two
    /// seconds. Not from the host. Idempotent.
    void stop();

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dedloc::net

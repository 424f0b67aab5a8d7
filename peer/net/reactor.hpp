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

/// The program that runs the peer: ledger, receipt, progress, log. Calls block the network thread,
/// so a call may at most write to a local file or database. An exception ends the reactor: see
/// failed().
class Host {
  public:
    virtual ~Host() = default;

    /// Performs an action; peer/events.hpp says what each one asks for. What must be durable is so
    /// when this returns. Actions for other kinds of hosts are ignored.
    virtual void perform(const HostAction& action) = 0;
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

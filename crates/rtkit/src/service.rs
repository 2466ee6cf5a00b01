//! The interface on the bus.

use std::os::fd::AsFd as _;
use std::sync::Arc;

use zbus::blocking::connection::{Builder, Connection};
use zbus::fdo;
use zbus::message::Header;

use crate::refusal::Refusal;
use crate::supervisor::Supervisor;
use crate::thread::{Thread, has_ended};

/// The name on the bus.
pub const NAME: &str = "org.freedesktop.RealtimeKit1";
/// The path of the object.
pub const PATH: &str = "/org/freedesktop/RealtimeKit1";

/// The object that answers.
#[derive(Debug)]
pub struct Service {
    supervisor: Arc<Supervisor>,
}

/// Serves a bus.
///
/// # Errors
/// The bus cannot be reached, or does not let this process have the name: another one has it, or the bus's
/// policy denies it.
pub fn serve(bus: Builder<'_>, supervisor: Arc<Supervisor>) -> zbus::Result<Connection> {
    // A service that runs keeps the name.
    let bus = bus.allow_name_replacements(false).replace_existing_names(false);
    bus.serve_at(PATH, Service { supervisor })?.name(NAME)?.build()
}

/// The thread of a request: of the calling process, or of another one.
#[derive(Clone, Copy)]
struct Target {
    process: Option<u64>,
    thread: u64,
}

impl Target {
    /// The thread; 0 is the first one of its process, as for RealtimeKit.
    fn open(self, caller: &fdo::ConnectionCredentials) -> Result<Thread, Refusal> {
        let number = |number: u64| u32::try_from(number).ok();
        let process = match self.process {
            Some(process) => number(process),
            None => caller.process_id(),
        };
        let process = process.ok_or_else(|| Refusal::failed("there is no such process"))?;
        let tid = if self.thread == 0 { Some(process) } else { number(self.thread) };
        let tid = tid.ok_or_else(|| Refusal::failed("there is no such thread"))?;
        let thread = Thread::open(process, tid).map_err(|_| Refusal::no_thread(process, tid))?;
        // Where the bus passes a descriptor of the caller, its id cannot have been that of another process.
        let caller = caller.process_fd().filter(|_| self.process.is_none());
        if caller.is_some_and(|caller| has_ended(caller.as_fd())) {
            return Err(Refusal::no_thread(process, tid));
        }
        Ok(thread)
    }
}

/// The credentials of the connection from which a request comes.
async fn caller(
    header: &Header<'_>,
    connection: &zbus::Connection,
) -> fdo::Result<fdo::ConnectionCredentials> {
    let sender = header.sender().ok_or_else(|| fdo::Error::Failed("no sender".into()))?;
    let bus = fdo::DBusProxy::new(connection).await?;
    bus.get_connection_credentials(sender.to_owned().into()).await
}

impl Service {
    /// Has a request of the caller handled beside those of others, since it may take seconds.
    async fn handle(
        &self,
        header: &Header<'_>,
        connection: &zbus::Connection,
        target: Target,
        request: impl FnOnce(&Supervisor, u32, Thread) -> Result<(), Refusal> + Send + 'static,
    ) -> fdo::Result<()> {
        let caller = caller(header, connection).await?;
        let supervisor = Arc::clone(&self.supervisor);
        let handle = move || {
            let user = caller.unix_user_id().ok_or_else(|| Refusal::denied("no user"))?;
            request(&supervisor, user, target.open(&caller)?)
        };
        Ok(blocking::unblock(handle).await?)
    }

    /// Has a request of root handled. The bus's policy refuses those of others, too.
    async fn handle_for_root(
        &self,
        header: &Header<'_>,
        connection: &zbus::Connection,
        request: impl FnOnce(&Supervisor) -> Result<(), Refusal> + Send + 'static,
    ) -> fdo::Result<()> {
        if caller(header, connection).await?.unix_user_id() != Some(0) {
            return Err(Refusal::denied("only root may ask for that").into());
        }
        let supervisor = Arc::clone(&self.supervisor);
        Ok(blocking::unblock(move || request(&supervisor)).await?)
    }

    async fn make_realtime(
        &self,
        header: &Header<'_>,
        connection: &zbus::Connection,
        target: Target,
        priority: u32,
    ) -> fdo::Result<()> {
        self.handle(header, connection, target, move |supervisor, user, thread| {
            supervisor.make_realtime(user, thread, priority)
        })
        .await
    }

    async fn make_high_priority(
        &self,
        header: &Header<'_>,
        connection: &zbus::Connection,
        target: Target,
        nice: i32,
    ) -> fdo::Result<()> {
        self.handle(header, connection, target, move |supervisor, user, thread| {
            supervisor.make_high_priority(user, thread, nice)
        })
        .await
    }
}

#[zbus::interface(name = "org.freedesktop.RealtimeKit1")]
impl Service {
    async fn make_thread_realtime(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &zbus::Connection,
        thread: u64,
        priority: u32,
    ) -> fdo::Result<()> {
        let target = Target { process: None, thread };
        self.make_realtime(&header, connection, target, priority).await
    }

    #[zbus(name = "MakeThreadRealtimeWithPID")]
    async fn make_thread_realtime_with_pid(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &zbus::Connection,
        process: u64,
        thread: u64,
        priority: u32,
    ) -> fdo::Result<()> {
        let target = Target { process: Some(process), thread };
        self.make_realtime(&header, connection, target, priority).await
    }

    async fn make_thread_high_priority(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &zbus::Connection,
        thread: u64,
        priority: i32,
    ) -> fdo::Result<()> {
        let target = Target { process: None, thread };
        self.make_high_priority(&header, connection, target, priority).await
    }

    #[zbus(name = "MakeThreadHighPriorityWithPID")]
    async fn make_thread_high_priority_with_pid(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &zbus::Connection,
        process: u64,
        thread: u64,
        priority: i32,
    ) -> fdo::Result<()> {
        let target = Target { process: Some(process), thread };
        self.make_high_priority(&header, connection, target, priority).await
    }

    async fn reset_known(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &zbus::Connection,
    ) -> fdo::Result<()> {
        self.handle_for_root(&header, connection, Supervisor::reset_known).await
    }

    async fn reset_all(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &zbus::Connection,
    ) -> fdo::Result<()> {
        self.handle_for_root(&header, connection, Supervisor::reset_all).await
    }

    async fn exit(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &zbus::Connection,
    ) -> fdo::Result<()> {
        self.handle_for_root(&header, connection, |supervisor| {
            supervisor.exit();
            Ok(())
        })
        .await?;
        // The answer precedes the end.
        connection.reply(&header, &()).await?;
        Ok(connection.clone().close().await?)
    }

    #[zbus(property(emits_changed_signal = "const"), name = "RTTimeUSecMax")]
    fn rttime_usec_max(&self) -> i64 {
        let usec = self.supervisor.config().rttime_max.as_micros();
        i64::try_from(usec).unwrap_or(i64::MAX)
    }

    #[zbus(property(emits_changed_signal = "const"))]
    fn max_realtime_priority(&self) -> i32 {
        i32::try_from(self.supervisor.config().max_priority).unwrap_or(i32::MAX)
    }

    #[zbus(property(emits_changed_signal = "const"))]
    fn min_nice_level(&self) -> i32 {
        self.supervisor.config().min_nice
    }
}

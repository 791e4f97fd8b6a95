//! What is said first of a supervisor that was forked: who it is, with a descriptor that stays with it.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::{Deserialize, Serialize};

use crate::runner::process::ProcessIdentity;

/// What is said at once is at most.
const SAID_MAX: usize = 512;

/// What is said to whoever has asked for a supervisor.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Hello {
    /// It is there, and waits for its order.
    Forked(ProcessIdentity),
    /// The system has refused it, by this number.
    Refused(i32),
}

/// Why there is no supervisor.
pub(super) enum NoSupervisor {
    /// The system has refused it.
    Refused(io::Error),
    /// Nobody is there.
    Silent,
}

/// Says who a child of this process is.
pub(super) fn say(link: impl AsFd, child: Pid) -> io::Result<()> {
    let exit = pidfd_open(child, PidfdFlags::empty())?;
    let hello = Hello::Forked(ProcessIdentity::of_open(child, &exit));
    send(link, &serde_json::to_vec(&hello)?, Some(exit.as_fd()))
}

/// Says that there is no supervisor.
pub(super) fn refuse(link: impl AsFd, error: &io::Error) -> io::Result<()> {
    let hello = Hello::Refused(error.raw_os_error().unwrap_or_default());
    send(link, &serde_json::to_vec(&hello)?, None)
}

/// Hears who a supervisor is; `control` ends when who says so has died.
pub(super) fn hear(
    link: impl AsFd,
    control: impl AsFd,
) -> Result<(ProcessIdentity, OwnedFd), NoSupervisor> {
    if !will_say(&link, control) {
        return Err(NoSupervisor::Silent);
    }
    let Ok(Some((said, along))) = receive(link) else {
        return Err(NoSupervisor::Silent);
    };
    match (serde_json::from_slice(&said), along) {
        (Ok(Hello::Forked(identity)), Some(exit)) => Ok((identity, exit)),
        (Ok(Hello::Refused(errno)), _) => {
            Err(NoSupervisor::Refused(io::Error::from_raw_os_error(errno)))
        }
        _ => Err(NoSupervisor::Silent),
    }
}

/// Waits until there is something to hear; returns whether there is, or who would say it has died: the
/// supervisor may be there then, and holds the link.
fn will_say(link: &impl AsFd, control: impl AsFd) -> bool {
    let mut fds = [
        PollFd::new(link, PollFlags::IN),
        PollFd::new(&control, PollFlags::IN),
    ];
    while let Err(Errno::INTR) = poll(&mut fds, None) {}
    // What was said before a death is there when the death is.
    !fds[0].revents().is_empty()
}

/// Says something, with a descriptor along.
pub(super) fn send(to: impl AsFd, said: &[u8], along: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let along = along.as_slice();
    if !along.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(along));
    }
    sendmsg(
        to,
        &[IoSlice::new(said)],
        &mut ancillary,
        SendFlags::NOSIGNAL,
    )?;
    Ok(())
}

/// Receives what is said, and what comes along; nothing where nothing will be said any more.
pub(super) fn receive(from: impl AsFd) -> io::Result<Option<(Vec<u8>, Option<OwnedFd>)>> {
    let mut said = vec![0; SAID_MAX];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let mut into = [IoSliceMut::new(&mut said)];
        match recvmsg(
            from.as_fd(),
            &mut into,
            &mut ancillary,
            RecvFlags::CMSG_CLOEXEC,
        ) {
            Err(Errno::INTR) => {}
            received => break received?,
        }
    };
    if received.bytes == 0 {
        return Ok(None);
    }
    said.truncate(received.bytes);
    let along = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut all) => all.next(),
        _ => None,
    });
    Ok(Some((said, along)))
}

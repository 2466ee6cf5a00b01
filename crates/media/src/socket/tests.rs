use std::collections::VecDeque;
use std::net::Ipv4Addr;

use nix::errno::Errno;

use super::*;

/// Returns the given errors, then sends everything.
#[derive(Default)]
struct Script {
    answers: VecDeque<Result<usize, Errno>>,
    /// Lengths of the packets of each message that went out, and where it was cut.
    out: Vec<(u8, Vec<usize>, Option<u16>)>,
    calls: usize,
}

impl Transmit for Script {
    type Address = u8;

    fn key(to: &u8) -> u64 {
        u64::from(to / 2)
    }

    fn transmit(
        &mut self,
        messages: &[Message<'_, u8>],
        segment: Option<u16>,
    ) -> Result<usize, Errno> {
        self.calls += 1;
        let count = self.answers.pop_front().unwrap_or(Ok(messages.len()))?.min(messages.len());
        for message in &messages[..count] {
            let lengths = message.packets.iter().map(|p| p.len()).collect();
            self.out.push((message.to, lengths, segment));
        }
        Ok(count)
    }
}

fn channel(segment: bool, packets: &[(u8, usize)]) -> Channel<Script> {
    let mut channel = Channel::new(Script::default(), segment);
    for (stream, (to, bytes)) in packets.iter().enumerate() {
        let datagram =
            Datagram { body: vec![0; *bytes], stream: stream as u32, ..Datagram::default() };
        channel.push(*to, datagram).unwrap();
    }
    channel
}

fn flush(channel: &mut Channel<Script>) -> (Flush, Vec<(u32, Fate)>) {
    let mut fates = Vec::new();
    let end = channel.flush(|datagram, fate| fates.push((datagram.stream, fate)));
    (end, fates)
}

/// Fails when packets change their order, runs mix lengths or destinations, or a packet longer
/// than the cut goes with a run: tried without the check of the destination, without the end of
/// a run at a shorter packet, and without the check of single packets.
#[test]
fn runs_are_joined_where_the_kernel_can_cut_them() {
    let packets = [(1, 100), (1, 100), (1, 60), (1, 100), (2, 90), (2, 150), (3, 200), (3, 200)];
    let mut joined = channel(true, &packets);
    let (end, fates) = flush(&mut joined);
    assert_eq!((end, fates.len(), joined.len()), (Flush::Done, 8, 0));
    assert_eq!(
        joined.transmit().out,
        [
            (1, vec![100, 100, 60], Some(100)),
            (1, vec![100], Some(100)),
            (2, vec![90], Some(100)),
            (2, vec![150], Some(200)),
            (3, vec![200, 200], Some(200)),
        ]
    );
    assert_eq!(joined.transmit().calls, 2);

    let mut apart = channel(false, &packets);
    flush(&mut apart);
    assert!(apart.transmit().out.iter().all(|m| m.1.len() == 1 && m.2.is_none()));
    assert_eq!((apart.transmit().out.len(), apart.transmit().calls), (8, 1));
}

/// Fails when a complaint about one destination costs a packet for another: tried with errors
/// counted at once, and when they come twice.
#[test]
fn a_stale_error_costs_nothing() {
    let mut channel = channel(true, &[(1, 10), (2, 20), (3, 30)]);
    let stale = Err(Errno::ECONNREFUSED);
    channel.transmit.answers = [Ok(1), stale, stale, stale, Ok(1), stale].into();
    let (end, fates) = flush(&mut channel);
    assert_eq!(end, Flush::Done);
    assert!(fates.iter().all(|(_, fate)| *fate == Fate::Sent), "{fates:?}");
    assert_eq!(channel.transmit().out.len(), 3);
}

/// Fails when one refused packet drops those behind it, or is retried forever.
#[test]
fn a_refused_packet_is_the_only_one() {
    let mut channel = channel(true, &[(1, 10), (2, 20), (3, 30)]);
    let (long, denied) = (Err(Errno::EMSGSIZE), Err(Errno::EPERM));
    channel.transmit.answers = [long, long, denied, denied].into();
    let (end, fates) = flush(&mut channel);
    assert_eq!(end, Flush::Done);
    let expected = [(0, Fate::TooLong), (1, Fate::Refused(Errno::EPERM)), (2, Fate::Sent)];
    assert_eq!(fates, expected);
}

/// Fails when a run that is refused is lost, or sent as a run again: tried with the run given up.
#[test]
fn a_refused_run_goes_out_singly() {
    let mut channel = channel(true, &[(1, 10), (1, 10), (2, 20)]);
    channel.transmit.answers = [Err(Errno::EINVAL), Err(Errno::EINVAL)].into();
    let (end, fates) = flush(&mut channel);
    assert_eq!((end, fates.len()), (Flush::Done, 3));
    let lengths: Vec<_> = channel.transmit().out.iter().map(|m| m.1.clone()).collect();
    assert_eq!(lengths, [vec![10], vec![10], vec![20]]);
}

/// Fails when a full buffer loses packets or their order.
#[test]
fn a_full_buffer_keeps_what_it_held_back() {
    let mut channel = channel(false, &[(1, 10), (2, 20), (3, 30)]);
    channel.transmit.answers = [Ok(1), Err(Errno::EAGAIN), Err(Errno::ENOBUFS)].into();
    assert_eq!(flush(&mut channel), (Flush::Full, vec![(0, Fate::Sent)]));
    assert_eq!(flush(&mut channel), (Flush::Busy, vec![]));
    assert_eq!(flush(&mut channel).1, [(1, Fate::Sent), (2, Fate::Sent)]);
    assert_eq!(channel.transmit().out.iter().map(|m| m.0).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn batches_are_bounded() {
    let mut channel = channel(false, &[(1, 10); BATCH]);
    assert!(channel.push(1, Datagram::default()).is_err());
    assert_eq!((channel.take_waiting().len(), channel.len()), (BATCH, 0));
}

fn local() -> (Arc<UdpSocket>, UdpSocket) {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let receiver = UdpSocket::bind(any).unwrap();
    receiver.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    (open(any, None).unwrap(), receiver)
}

/// Fails when the kernel gets another segment size than the packets have: the receiver then gets others.
#[test]
fn the_kernel_cuts_runs_as_they_were_joined() {
    let (socket, receiver) = local();
    let mut channel = AnyChannel::new(socket, true).unwrap();
    let to = receiver.local_addr().unwrap().into();
    let lengths = [300, 300, 300, 7, 500, 500];
    for (mark, length) in lengths.iter().enumerate() {
        let body = vec![mark as u8; *length];
        channel.push(&to, Datagram { body, ..Datagram::default() }).unwrap();
    }
    let mut sent = 0;
    let end = channel.flush(|_, fate| sent += u32::from(fate == Fate::Sent));
    assert_eq!((end, sent), (Flush::Done, 6));
    let mut buffer = [0; 2000];
    for (mark, length) in lengths.iter().enumerate() {
        let bytes = receiver.recv(&mut buffer).unwrap();
        assert_eq!((bytes, buffer[0], buffer[bytes - 1]), (*length, mark as u8, mark as u8));
    }
}

/// Fails when a vanished receiver is not reported, or costs the others a packet: tried
/// without the socket option, and with errors counted at once.
#[test]
fn a_vanished_receiver_is_reported_and_isolated() {
    let (socket, receiver) = local();
    // Keeps its port from others, and takes datagrams of one peer alone.
    let refuses = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    refuses.connect((Ipv4Addr::LOCALHOST, 9)).unwrap();
    let gone = refuses.local_addr().unwrap();
    let mut channel = AnyChannel::new(Arc::clone(&socket), true).unwrap();
    // The complaint about the last of a batch reaches the first of the next.
    let addresses: [Address; 2] = [receiver.local_addr().unwrap().into(), gone.into()];
    for round in 0..20 {
        for to in &addresses {
            channel.push(to, Datagram { body: vec![round], ..Datagram::default() }).unwrap();
        }
        let end = channel.flush(|_, fate| assert_eq!(fate, Fate::Sent));
        assert_eq!(end, Flush::Done);
    }
    let mut buffer = [0; 10];
    for round in 0..20 {
        assert_eq!((receiver.recv(&mut buffer).unwrap(), buffer[0]), (1, round));
    }
    let received = complaints(&socket, 100);
    assert!(!received.is_empty());
    let expected = Complaint { destination: gone, error: Errno::ECONNREFUSED };
    assert!(received.iter().all(|c| *c == expected), "{received:?}");
    assert_eq!(complaints(&socket, 100), []);
}

/// Fails when a packet that no datagram can hold stops the others.
#[test]
fn a_packet_beyond_all_limits_is_too_long() {
    let (socket, receiver) = local();
    let mut channel = AnyChannel::new(socket, true).unwrap();
    let to = receiver.local_addr().unwrap().into();
    for bytes in [10, 70_000, 20] {
        channel.push(&to, Datagram { body: vec![0; bytes], ..Datagram::default() }).unwrap();
    }
    let mut fates = Vec::new();
    channel.flush(|_, fate| fates.push(fate));
    assert_eq!(fates, [Fate::Sent, Fate::TooLong, Fate::Sent]);
    let v6: SocketAddr = "[::1]:9".parse().unwrap();
    assert!(channel.push(&v6.into(), Datagram::default()).is_err());
}

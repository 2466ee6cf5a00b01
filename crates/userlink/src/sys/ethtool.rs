//! Features of an interface, read and set by name (`SIOCETHTOOL`, as of linux/ethtool.h).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::{c_char, c_void};

const GSTRINGS: u32 = 0x1b;
const GSSET_INFO: u32 = 0x37;
const GFEATURES: u32 = 0x3a;
const SFEATURES: u32 = 0x3b;
const GCHANNELS: u32 = 0x3c;
const SS_FEATURES: u32 = 4;
/// Bytes of a name.
const NAME: usize = 32;
/// There are some 64; a kernel with more than this is of another world.
const MOST: usize = 1024;

/// 32 features, by bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Can be changed.
    pub available: u32,
    /// Are asked for.
    pub requested: u32,
}

/// The names of all features, by their number.
///
/// # Errors
/// The operating system's error.
pub fn names(control: BorrowedFd<'_>, device: &str) -> io::Result<Vec<String>> {
    // struct ethtool_sset_info: command, reserved, a mask of 64 bits, one count for each set.
    let mut info = [GSSET_INFO, 0, 0, 0, 0];
    let mask = 1u64 << SS_FEATURES;
    info[2..4].copy_from_slice(&[mask as u32, (mask >> 32) as u32]);
    if cfg!(target_endian = "big") {
        info.swap(2, 3);
    }
    // SAFETY: the kernel writes one count, for which there is room.
    unsafe { call(control, device, &mut info) }?;
    let count = info[4] as usize;
    // Fewer cannot be asked for: the kernel writes them all.
    if count > MOST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // struct ethtool_gstrings: command, set, count, names.
    let mut strings = vec![0u32; 3 + count * NAME / 4];
    strings[..3].copy_from_slice(&[GSTRINGS, SS_FEATURES, count as u32]);
    // SAFETY: the kernel writes as many names as it has just said that there are.
    unsafe { call(control, device, &mut strings) }?;
    let bytes: Vec<u8> = strings[3..].iter().flat_map(|word| word.to_ne_bytes()).collect();
    let name = |bytes: &[u8]| {
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(NAME);
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    Ok(bytes.chunks_exact(NAME).map(name).collect())
}

/// All features.
///
/// # Errors
/// The operating system's error.
pub fn features(control: BorrowedFd<'_>, device: &str, blocks: usize) -> io::Result<Vec<Block>> {
    // struct ethtool_gfeatures: command, blocks, and for each what is available, requested,
    // active, never changed.
    let blocks = blocks.min(MOST);
    let mut words = vec![0u32; 2 + 4 * blocks];
    words[..2].copy_from_slice(&[GFEATURES, blocks as u32]);
    // SAFETY: the kernel writes no more blocks than the second word says, which there are.
    unsafe { call(control, device, &mut words) }?;
    let block = |b: &[u32]| Block { available: b[0], requested: b[1] };
    Ok(words[2..].chunks_exact(4).map(block).collect())
}

/// Asks for features: in each block the ones of the first mask, each as the second says.
///
/// # Errors
/// The operating system's error.
pub fn request(control: BorrowedFd<'_>, device: &str, blocks: &[(u32, u32)]) -> io::Result<()> {
    let mut words = vec![SFEATURES, blocks.len() as u32];
    words.extend(blocks.iter().flat_map(|(valid, requested)| [*valid, *requested]));
    // SAFETY: the kernel only reads, as many blocks as the second word says.
    unsafe { call(control, device, &mut words) }
}

/// How many queues an interface receives by.
///
/// # Errors
/// The operating system's error; many interfaces with one queue do not support the call.
pub fn queues(control: BorrowedFd<'_>, device: &str) -> io::Result<u32> {
    // struct ethtool_channels: command, four maxima, then what there is: to receive, to send,
    // others, both.
    let mut words = [0u32; 9];
    words[0] = GCHANNELS;
    // SAFETY: the kernel writes these nine words.
    unsafe { call(control, device, &mut words) }?;
    Ok((words[5].saturating_add(words[8])).max(1))
}

/// The longest packet that an interface sends, its link header not counted.
///
/// # Errors
/// The operating system's error.
pub fn mtu(control: BorrowedFd<'_>, device: &str) -> io::Result<u32> {
    let mut request = request_for(device);
    // SAFETY: the request names an interface and ends with a zero; the kernel writes into it only.
    let done = unsafe { libc::ioctl(control.as_raw_fd(), libc::SIOCGIFMTU as _, &raw mut request) };
    // SAFETY: any bytes are a number, and the kernel has written one.
    let mtu = unsafe { request.ifr_ifru.ifru_mtu };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(mtu.unsigned_abs()) }
}

/// Whether an interface carries Ethernet frames.
///
/// # Errors
/// The operating system's error.
pub fn is_ethernet(control: BorrowedFd<'_>, device: &str) -> io::Result<bool> {
    let mut request = request_for(device);
    // SAFETY: the request names an interface and ends with a zero; the kernel writes into it only.
    let done =
        unsafe { libc::ioctl(control.as_raw_fd(), libc::SIOCGIFHWADDR as _, &raw mut request) };
    // SAFETY: the kernel has written an address, and any bytes are one.
    let kind = unsafe { request.ifr_ifru.ifru_hwaddr.sa_family };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(kind == libc::ARPHRD_ETHER) }
}

/// The number of this network namespace, which no other has before the next start of the system.
///
/// # Errors
/// The operating system's error; Linux before 5.14 lacks the call.
pub fn namespace(control: BorrowedFd<'_>) -> io::Result<u64> {
    let mut cookie = 0u64;
    let mut len = size_of::<u64>() as libc::socklen_t;
    let (level, name) = (libc::SOL_SOCKET, libc::SO_NETNS_COOKIE);
    // SAFETY: the kernel writes at most `len` bytes, which is what there is room for.
    let done = unsafe {
        let to = (&raw mut cookie).cast();
        libc::getsockopt(control.as_raw_fd(), level, name, to, &raw mut len)
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(cookie) }
}

/// A request that names an interface.
pub(super) fn request_for(device: &str) -> libc::ifreq {
    // SAFETY: all zeroes is a valid request.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let name = device.bytes().map(|b| b as c_char);
    // The last byte stays zero.
    let room = request.ifr_name.len() - 1;
    request.ifr_name[..room].iter_mut().zip(name).for_each(|(to, from)| *to = from);
    request
}

/// # Safety
/// The command in `words` must not write beyond them.
unsafe fn call(control: BorrowedFd<'_>, device: &str, words: &mut [u32]) -> io::Result<()> {
    let mut request = request_for(device);
    request.ifr_ifru.ifru_data = words.as_mut_ptr().cast::<c_void>().cast();
    let fd = control.as_raw_fd();
    // SAFETY: the request names an interface, ends with a zero, and leads to `words`, of which the
    // caller says that they suffice.
    let done = unsafe { libc::ioctl(fd, libc::SIOCETHTOOL as _, &raw mut request) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

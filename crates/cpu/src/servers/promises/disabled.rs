//! Release builds do not track promises.

use super::super::Servers;

#[derive(Clone, Debug, Default, Hash)]
pub(in super::super) struct Promises;

impl Promises {
    #[inline]
    pub(in super::super) fn begins(&mut self, _: u32) {}
    #[inline]
    pub(in super::super) fn executed(&mut self, _: u32, _: u64, _: u64) {}
    #[inline]
    pub(in super::super) fn enters_ready(&mut self, _: u32, _: u64) {}
}

impl Servers {
    #[inline]
    pub(in super::super) fn promises_reset_lag(&mut self, _: u64) {}
    #[inline]
    pub(in super::super) fn promises_move_back(&mut self, _: u64, _: u64) {}
    #[inline]
    pub(in super::super) fn promises_advance(&mut self, _: u64) {}
    #[inline]
    pub(in super::super) fn check_driver(&mut self, _: u64) {}
    #[inline]
    pub(in super::super) fn check_promises(&mut self, _: u64) {}
}

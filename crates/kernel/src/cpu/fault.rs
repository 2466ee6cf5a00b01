//! Faults that tests inject into the running scheduler.

use libbpf_rs::{MapCore as _, MapFlags, MapHandle};

use super::load::kernel_error;
use super::{CpuError, system};
use crate::layout::cpu::lx_task;

/// Makes the scheduler forget that a task is runnable, which only an error of its own could do: in the
/// map of tasks it is no longer queued.
///
/// # Errors
/// When the task is unknown or not queued, or the kernel does not change the map.
pub fn lose(pid: u32) -> Result<(), CpuError> {
    let tasks = MapHandle::from_pinned_path(system::pin("tasks")).map_err(kernel_error)?;
    for key in tasks.keys() {
        let task = tasks.lookup(&key, MapFlags::ANY).map_err(kernel_error)?;
        let Some(mut task) = task.filter(|task| lx_task::PID.u32(task) == pid) else { continue };
        if lx_task::QUEUED.u32(&task) != 1 {
            return Err(CpuError::State("the task is not queued"));
        }
        lx_task::QUEUED.set_u32(&mut task, 0);
        return tasks.update(&key, &task, MapFlags::ANY).map_err(kernel_error);
    }
    Err(CpuError::NoTask { pid })
}

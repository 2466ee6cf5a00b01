//! The operations on links in the kernel; a build without the kernel's part refuses them.

#[cfg(feature = "kernel")]
pub use with::*;
#[cfg(not(feature = "kernel"))]
pub use without::*;

#[cfg(feature = "kernel")]
mod with {
    use std::time::Duration;

    use laxity_core::Rate;
    use laxity_kernel::Plan;
    use laxity_kernel::qdisc::{self, Change, LinkError, LinkRequest, RateRequest};

    use crate::failure::Failure;
    use crate::live::link::Admitted;
    use crate::live::link::rate::Running;
    use crate::live::link::record::{Link, Links};

    impl From<LinkError> for Failure {
        fn from(error: LinkError) -> Failure {
            let text = error.to_string();
            match error {
                LinkError::NoDevice { .. } | LinkError::IsIfb { .. } => Failure::Input(text),
                LinkError::Occupied { .. }
                | LinkError::Up { .. }
                | LinkError::Down { .. }
                | LinkError::NoIngressLink { .. }
                | LinkError::NameTaken { .. }
                | LinkError::DoesNotFit { .. }
                | LinkError::Busy { .. } => Failure::Refused(text),
                LinkError::NoKernel { .. } => Failure::Lacking(format!(
                    "{text}. On other kernels `laxity link bridge` joins two interfaces in user space"
                )),
                LinkError::NoFileSystem
                | LinkError::NoIngress { .. }
                | LinkError::NotPermitted { .. }
                | LinkError::Exposed { .. } => Failure::Lacking(text),
                _ => Failure::Internal(text),
            }
        }
    }

    fn request(admitted: &Admitted) -> LinkRequest<'_> {
        let Admitted { scenario, policy, plan } = admitted;
        LinkRequest { plan, policy, scenario }
    }

    /// Whether filters of others come before the ingress direction's.
    pub fn up(
        egress: Option<&Admitted>,
        ingress: Option<&Admitted>,
        device: &str,
        replace: bool,
    ) -> Result<bool, Failure> {
        let (egress, ingress) = (egress.map(request), ingress.map(request));
        Ok(qdisc::up(&qdisc::Links { egress, ingress }, device, replace)?)
    }

    /// The interface with the link of another one's ingress direction.
    pub fn ingress_device(device: &str) -> Result<String, Failure> {
        Ok(qdisc::ingress_device(device)?)
    }

    /// Whether it comes into force with the next packet only.
    pub fn set(admitted: &Admitted, device: &str, timeout: Duration) -> Result<bool, Failure> {
        Ok(qdisc::set(&request(admitted), device, timeout)? == Change::WithNextPacket)
    }

    /// Whether the plan takes over later. The scenario is that of [`running`].
    pub fn set_rate(
        plan: &Plan,
        rate: Rate,
        scenario: &str,
        device: &str,
        timeout: Duration,
    ) -> Result<bool, Failure> {
        let request = RateRequest { plan, rate, scenario };
        Ok(qdisc::set_rate(&request, device, timeout)? == Change::Later)
    }

    /// The scenario and policy of a link.
    pub fn running(device: &str) -> Result<Running, Failure> {
        let qdisc::Status { scenario, policy, rate, shed, .. } = qdisc::status(device)?;
        Ok(Running { scenario, policy, rate, shed })
    }

    pub fn down(device: &str) -> Result<(), Failure> {
        Ok(qdisc::down(device)?)
    }

    /// The links of an interface, or all of this network namespace.
    pub fn status(device: Option<&str>) -> Result<Links, Failure> {
        let devices = match device {
            Some(device) => qdisc::devices_of(device)?,
            None => qdisc::devices()?,
        };
        let mut links = Vec::new();
        for name in devices {
            match qdisc::status(&name) {
                // Removed since they were listed.
                Err(LinkError::Down { .. }) if device.is_none() => {}
                status => links.push(Link::new(name, status?)?),
            }
        }
        Ok(Links { links, ..Links::default() })
    }
}

#[cfg(not(feature = "kernel"))]
mod without {
    use std::time::Duration;

    use laxity_core::Rate;
    use laxity_kernel::Plan;

    use crate::failure::Failure;
    use crate::live::link::Admitted;
    use crate::live::link::rate::Running;
    use crate::live::link::record::Links;

    pub fn up(
        _: Option<&Admitted>,
        _: Option<&Admitted>,
        _: &str,
        _: bool,
    ) -> Result<bool, Failure> {
        Failure::without_kernel_for_links()
    }

    pub fn ingress_device(_: &str) -> Result<String, Failure> {
        Failure::without_kernel_for_links()
    }

    pub fn set(_: &Admitted, _: &str, _: Duration) -> Result<bool, Failure> {
        Failure::without_kernel_for_links()
    }

    pub fn set_rate(_: &Plan, _: Rate, _: &str, _: &str, _: Duration) -> Result<bool, Failure> {
        Failure::without_kernel_for_links()
    }

    pub fn running(_: &str) -> Result<Running, Failure> {
        Failure::without_kernel_for_links()
    }

    pub fn down(_: &str) -> Result<(), Failure> {
        Failure::without_kernel_for_links()
    }

    pub fn status(_: Option<&str>) -> Result<Links, Failure> {
        Failure::without_kernel_for_links()
    }
}

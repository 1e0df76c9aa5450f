#!/bin/sh
# Install Slurm from Debian packages on this host, with a controller and two nodes, and run the
# tests of engine=slurm. Run as root, on a dedicated machine or container.
#
#   docs/tools/check_slurm.sh | tee docs/results/distributed/slurm.txt
#
# Arguments are passed to pytest, for example `-k limit` to run a single test.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
slurm_dir=${SLURM_TEST_DIR:-/tmp/bnnbench-slurm}

command -v slurmctld > /dev/null || {
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends slurmctld slurmd slurm-client munge > /dev/null
}
mkdir -p "$slurm_dir/state" "$slurm_dir/n1" "$slurm_dir/n2" /run/munge
chown munge: /run/munge

host=$(hostname)
cat > /etc/slurm/slurm.conf << CONF
ClusterName=check
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
KillWait=5
JobRequeue=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
MinJobAge=20
SchedulerParameters=sched_interval=2,bf_interval=2
StateSaveLocation=$slurm_dir/state
SlurmctldPidFile=$slurm_dir/slurmctld.pid
SlurmctldLogFile=$slurm_dir/slurmctld.log
SlurmdSpoolDir=$slurm_dir/%n
SlurmdPidFile=$slurm_dir/%n.pid
SlurmdLogFile=$slurm_dir/%n.log
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=17001 CPUs=1 RealMemory=8000 State=UNKNOWN
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=17002 CPUs=1 RealMemory=8000 State=UNKNOWN
PartitionName=cpu Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=urgent Nodes=n1,n2 MaxTime=INFINITE State=UP PriorityTier=10
CONF

pgrep -x munged > /dev/null || runuser -u munge -- /usr/sbin/munged
for daemon in "slurmctld" "slurmd -N n1" "slurmd -N n2"; do
    # shellcheck disable=SC2086
    pgrep -f "^/usr/sbin/$daemon" > /dev/null || /usr/sbin/$daemon
done
for _ in $(seq 30); do
    [ "$(sinfo --noheader --Node --states=idle --format=%N | sort -u | wc -l)" = 2 ] && break
    sleep 1
done

slurmctld -V
sinfo --Node --long
cd "$here"
.venv/bin/python -m pytest -m slow tests/experiment/engines/test_slurm.py -vv --no-header --tb=short "$@"

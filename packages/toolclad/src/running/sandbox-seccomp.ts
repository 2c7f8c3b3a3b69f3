/**
 * System calls that a program in the sandbox may not make, as a filter that the kernel runs. Ordinary programs need none of it; it is where
 * ways out of namespaces have been found, or looks into other processes. The rest stays allowed: this is a second wall behind the namespaces.
 */

type Arch = Readonly<{ audit: number; numbers: Readonly<Record<string, number>> }>;

/** Numbers from the kernel's tables; from 424 on they are the same everywhere. */
const COMMON = {
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  clone3: 435,
  pidfd_getfd: 438,
  process_madvise: 440,
  mount_setattr: 442,
  quotactl_fd: 443,
  memfd_secret: 447,
};
const X64: Arch = {
  audit: 0xc000003e,
  numbers: {
    ...COMMON,
    ioctl: 16,
    shmget: 29,
    clone: 56,
    ptrace: 101,
    syslog: 103,
    uselib: 134,
    modify_ldt: 154,
    pivot_root: 155,
    adjtimex: 159,
    chroot: 161,
    acct: 163,
    settimeofday: 164,
    mount: 165,
    umount2: 166,
    swapon: 167,
    swapoff: 168,
    reboot: 169,
    iopl: 172,
    ioperm: 173,
    init_module: 175,
    delete_module: 176,
    quotactl: 179,
    lookup_dcookie: 212,
    clock_settime: 227,
    kexec_load: 246,
    add_key: 248,
    request_key: 249,
    keyctl: 250,
    unshare: 272,
    perf_event_open: 298,
    fanotify_init: 300,
    open_by_handle_at: 304,
    clock_adjtime: 305,
    setns: 308,
    process_vm_readv: 310,
    process_vm_writev: 311,
    kcmp: 312,
    finit_module: 313,
    memfd_create: 319,
    kexec_file_load: 320,
    bpf: 321,
    userfaultfd: 323,
  },
};
const ARM64: Arch = {
  audit: 0xc00000b7,
  numbers: {
    ...COMMON,
    lookup_dcookie: 18,
    ioctl: 29,
    umount2: 39,
    mount: 40,
    pivot_root: 41,
    chroot: 51,
    quotactl: 60,
    acct: 89,
    unshare: 97,
    kexec_load: 104,
    init_module: 105,
    delete_module: 106,
    clock_settime: 112,
    syslog: 116,
    ptrace: 117,
    reboot: 142,
    settimeofday: 170,
    adjtimex: 171,
    shmget: 194,
    add_key: 217,
    request_key: 218,
    keyctl: 219,
    clone: 220,
    swapon: 224,
    swapoff: 225,
    perf_event_open: 241,
    fanotify_init: 262,
    open_by_handle_at: 265,
    clock_adjtime: 266,
    setns: 268,
    process_vm_readv: 270,
    process_vm_writev: 271,
    kcmp: 272,
    finit_module: 273,
    memfd_create: 279,
    bpf: 280,
    userfaultfd: 282,
    kexec_file_load: 294,
  },
};
const ARCHS: Readonly<Record<string, Arch>> = { x64: X64, arm64: ARM64 };

/** Checked by their arguments, or answered as if the kernel were older. */
const SPECIAL = new Set(["ioctl", "clone", "clone3", "memfd_create", "shmget", "io_uring_setup", "io_uring_enter", "io_uring_register"]);
/** Memory that no limit of a process counts; closed where limits are held by process. */
const UNCOUNTED = ["memfd_create", "shmget"];
const ABSENT = ["clone3", "io_uring_setup", "io_uring_enter", "io_uring_register"]; // the C library then takes the way whose flags can be read

const [EPERM, ENOSYS] = [1, 38];
const KILL = 0x80000000;
const ALLOW = 0x7fff0000;
const errno = (number: number): number => 0x00050000 | number;
const CLONE_NEW = 0x7e020000;
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
const X32 = 0x40000000;

type Step = readonly [code: number, jt: number, jf: number, k: number];
const load = (offset: number): Step => [0x20, 0, 0, offset]; // a 32-bit word of what is asked
const ifEqual = (k: number, jt: number, jf: number): Step => [0x15, jt, jf, k];
const ifAtLeast = (k: number, jt: number, jf: number): Step => [0x35, jt, jf, k];
const ifAny = (k: number, jt: number, jf: number): Step => [0x45, jt, jf, k];
const answer = (k: number): Step => [0x06, 0, 0, k];
const [NUMBER, ARCH, FIRST, SECOND] = [0, 4, 16, 24];

/** Null where the kernel's numbers are not known here. */
export function seccompFilter(arch: string, countsByProcess: boolean): Uint8Array | null {
  const known = ARCHS[arch];
  if (known === undefined) return null;
  const { audit, numbers } = known;
  const of = (name: string): readonly number[] => (numbers[name] === undefined ? [] : [numbers[name]]);
  const absent = [...ABSENT, ...(countsByProcess ? UNCOUNTED : [])].flatMap(of);
  const denied = Object.keys(numbers)
    .filter((name) => !SPECIAL.has(name))
    .flatMap(of);
  const steps: Step[] = [
    load(ARCH),
    ifEqual(audit, 1, 0), // the numbers of another architecture mean other things
    answer(KILL),
    load(NUMBER),
    ...(arch === "x64" ? [ifAtLeast(X32, 0, 1), answer(errno(ENOSYS))] : []),
    ...absent.flatMap((n) => [ifEqual(n, 0, 1), answer(errno(ENOSYS))]),
    ...denied.flatMap((n) => [ifEqual(n, 0, 1), answer(errno(EPERM))]),
    ...of("clone").flatMap((n) => [ifEqual(n, 0, 4), load(FIRST), ifAny(CLONE_NEW, 0, 1), answer(errno(EPERM)), answer(ALLOW)]),
    ...of("ioctl").flatMap((n) => [
      ifEqual(n, 0, 5),
      load(SECOND),
      ifEqual(TIOCSTI, 1, 0),
      ifEqual(TIOCLINUX, 0, 1),
      answer(errno(EPERM)),
      answer(ALLOW),
    ]),
    answer(ALLOW),
  ];
  return assembled(steps);
}

/** As the kernel reads them: code, jt, jf, k, in this machine's order; both architectures are little-endian. */
function assembled(steps: readonly Step[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(steps.length * 8));
  for (const [i, [code, jt, jf, k]] of steps.entries()) {
    view.setUint16(i * 8, code, true);
    view.setUint8(i * 8 + 2, jt);
    view.setUint8(i * 8 + 3, jf);
    view.setUint32(i * 8 + 4, k, true);
  }
  return new Uint8Array(view.buffer);
}

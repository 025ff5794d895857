# The launcher in Perl: hides folders from itself, then becomes the command.
#
#     perl isolate_launch.pl PLAN REPORT -- COMMAND...
#
# The same as isolate_launch.py, which says how, in a fifth of its time: it loads no module.

my ($O_WRONLY, $O_CREAT, $O_CLOEXEC, $O_PATH) = (1, 0100, 02000000, 010000000);
my ($NEW_MOUNTS, $NEW_USER, $NEW_PIDS) = (0x20000, 0x10000000, 0x20000000);
my ($READ_ONLY, $NO_SET_ID, $NO_DEVICES, $NO_EXEC) = (1, 2, 4, 8);
my ($REMOUNT, $BIND, $RECURSIVE, $PRIVATE) = (32, 4096, 16384, 1 << 18);

my ($from, $to) = splice @ARGV, 0, 3;
open(my $report, '>&=', $to) or exit 126;
fcntl($report, 2, 1);  # the command does not inherit it: its end says that the command runs

sub fail { syswrite $report, "0 $_[0]\n"; exit 126 }

sub checked {
    my ($what, $result) = @_;
    fail("$what: $!") if $result < 0;
    return $result;
}

sub text { pack 'H*', $_[0] }

my (@steps, @adopt, @ports, @filters, %number);
open(my $file, '<&=', $from) or fail("the plan cannot be read: $!");
<$file> =~ /^muster-isolate 1$/ or fail('the plan cannot be read');
while (<$file>) {
    my ($word, @rest) = split;
    if ($word =~ /^(hide|show|read)$/) { push @steps, [$word, text($rest[0]), ($rest[1] // 0) + 0] }
    elsif ($word eq 'adopt') { push @adopt, text($rest[0]) }
    elsif ($word eq 'port') { push @ports, $rest[0] + 0 }
    elsif ($word eq 'filter') { push @filters, text($rest[0]) }
    else { $number{$word} = [map { $_ + 0 } @rest] }
}
close $file;
$number{calls} && $number{enter} && $number{pids} && $number{landlock} or fail('the plan is incomplete');
my ($unshare, $mount, $execve, $prctl, $seccomp, $create, $add, $enforce) = @{$number{calls}};
my $pids = $number{pids}[0];

# ── namespaces ────────────────────────────────────────────────────────────────────────────────────

sub put {
    my ($path, $text) = @_;
    sysopen(my $opened, $path, $O_WRONLY | $O_CLOEXEC) or return 0;
    return defined syswrite $opened, $text;
}

sub identity {
    open(my $map, '<', "/proc/self/$_[0]") or fail("/proc/self/$_[0]: $!");
    return join '', map { my ($inside, undef, $count) = split; "$inside $inside $count\n" } <$map>;
}

sub enter {
    my $flags = shift;
    my ($uid, $gid) = ($>, $) + 0);
    my %ranges = $uid ? () : map { $_ => identity($_) } 'uid_map', 'gid_map';
    my ($parent, $mapper) = ($$, 0);
    pipe(my $ready, my $go) or fail("a pipe: $!");
    if (%ranges) {
        defined($mapper = fork) or fail("a process: $!");
        if (!$mapper) {
            close $go;
            sysread $ready, my $end, 1;  # ends when the parent has entered its namespace
            exit 1 unless put("/proc/$parent/uid_map", $ranges{uid_map})
                && put("/proc/$parent/gid_map", $ranges{gid_map});
            exit 0;
        }
    }
    checked('a user namespace', syscall($unshare, $flags | $NEW_USER | $NEW_MOUNTS));
    close $go;
    return if $mapper && waitpid($mapper, 0) > 0 && $? == 0;
    for (['setgroups', 'deny'], ['uid_map', "$uid $uid 1"], ['gid_map', "$gid $gid 1"]) {
        put("/proc/self/$_->[0]", $_->[1]) or fail("/proc/self/$_->[0]: $!");
    }
}

# ── hiding ────────────────────────────────────────────────────────────────────────────────────────

sub mounted {
    my ($what, $where, $kind, $flags, $data) = @_;
    return syscall($mount, $what // 0, $where, $kind // 0, $flags, $data // 0);
}

sub made {
    my ($path, $is_folder) = @_;
    my $folder = '';
    my @parts = grep { length } split m{/}, $path;
    my $name = $is_folder ? undef : pop @parts;
    for (@parts) {
        $folder .= "/$_";
        -d $folder || mkdir($folder, 0755) || fail("$folder: $!");
    }
    return if $is_folder || -e "$folder/$name";
    sysopen(my $new, "$folder/$name", $O_WRONLY | $O_CREAT, 0600) or fail("$path: $!");
}

sub hide {
    checked('mounts', mounted(undef, '/', undef, $RECURSIVE | $PRIVATE));
    my %held;
    for (grep { $_->[0] ne 'hide' } @steps) {
        sysopen($held{$_->[1]}, $_->[1], $O_PATH | $O_CLOEXEC) or fail("$_->[1]: $!");
    }
    for (@steps) {
        my ($word, $path, $locked) = @$_;
        if ($word eq 'hide') {
            my ($kind, $size) = ('tmpfs', 'mode=0755,size=1m,nr_inodes=4096');
            checked($path, mounted($kind, $path, $kind, $NO_SET_ID | $NO_DEVICES, $size));
            next;
        }
        my $place = '/proc/self/fd/' . fileno $held{$path};
        made($path, -d $place);
        checked($path, mounted($place, $path, undef, $BIND | $RECURSIVE));
        next if $word ne 'read';
        checked($path, mounted(undef, $path, undef, $REMOUNT | $BIND | $READ_ONLY | $locked));
    }
    for (grep { $_->[0] eq 'hide' } @steps) {
        my $flags = $REMOUNT | $BIND | $READ_ONLY | $NO_SET_ID | $NO_DEVICES;
        checked($_->[1], mounted(undef, $_->[1], undef, $flags));
    }
}

sub adopt {
    my $folder = shift;
    return if $> == 0 || !opendir my $opened, $folder;
    my %found;
    for my $name (grep { !/^\.\.?$/ } readdir $opened) {
        sysopen(my $one, "$folder/$name", 0) or next;
        defined sysread($one, my $data, 1 << 16) or next;
        $found{$name} = $data;
    }
    my ($kind, $mode) = ('tmpfs', 'mode=0755');
    return if !%found || mounted($kind, $folder, $kind, $NO_SET_ID | $NO_DEVICES, $mode) < 0;
    for (keys %found) {
        sysopen(my $one, "$folder/$_", $O_WRONLY | $O_CREAT, 0644) or fail("$folder/$_: $!");
        syswrite $one, $found{$_};
    }
}

# ── a pid namespace ───────────────────────────────────────────────────────────────────────────────

sub end_like {
    my $signal = $_[0] & 127;
    exit($_[0] >> 8) if !$signal;
    exit(128 + $signal) if $$ == 1;
    $SIG{$_} = 'DEFAULT' for qw(INT TERM HUP QUIT);
    kill $signal, $$;
    exit(128 + $signal);
}

sub become_outside {
    defined(my $child = fork) or fail("a process: $!");
    if (!$child) {
        syscall($prctl, 1, 9, 0, 0, 0);
        my $kind = 'proc';
        my $flags = $NO_SET_ID | $NO_DEVICES | $NO_EXEC;
        checked('a /proc of its own', mounted($kind, '/proc', $kind, $flags));
        return;
    }
    close $report;
    $SIG{$_} = 'IGNORE' for qw(INT TERM HUP QUIT);  # the group has it too; this one sees the end
    waitpid $child, 0;
    end_like($?);
}

sub become_first {
    defined(my $child = fork) or fail("a process: $!");
    return if !$child;
    close $report;
    while ((my $pid = wait) > 0) { end_like($?) if $pid == $child }
}

# ── Landlock ──────────────────────────────────────────────────────────────────────────────────────

sub restrict {
    my ($size, $files, $network, $scopes) = @{$number{landlock}};
    checked('no new privileges', syscall($prctl, 38, 1, 0, 0, 0));
    if ($size) {
        my $handled = substr pack('QQQ', $files, $network, $scopes), 0, $size;
        my $rules = checked('Landlock', syscall($create, $handled, $size, 0));
        for (@ports) {
            my $rule = pack 'QQ', 2, $_;
            checked("port $_", syscall($add, $rules, 2, $rule, 0));
        }
        checked('Landlock', syscall($enforce, $rules, 0));
        open(my $opened, '<&=', $rules) and close $opened;
    }
    for (@filters) {
        my $given = pack 'Sx6P', length($_) / 8, $_;
        checked('seccomp', syscall($seccomp, 1, 0, $given));
    }
}

# Perl's own exec would run a file without a first line by a shell, where muster reports it.
sub become {
    my @argv = map { "$_" } @ARGV;
    my @environment = map { "$_=$ENV{$_}" } keys %ENV;
    my ($words, $variables) = (pack('p*', @argv, undef), pack('p*', @environment, undef));
    my @places = $argv[0] =~ m{/} ? $argv[0] : map { "$_/$argv[0]" } split /:/, $ENV{PATH} // '';
    my $kept = 0;
    # Perl ignores SIGFPE, and the shell before bubblewrap the others
    $SIG{$_} = 'DEFAULT' for qw(PIPE XFSZ FPE INT TERM HUP QUIT);
    for my $path (@places) {
        syscall($execve, $path, $words, $variables);
        $kept ||= $! + 0 unless $! == 2 || $! == 20;  # not here; it may be in a later folder
    }
    $! = $kept || (@places ? $! : 2);
    syswrite $report, ($! + 0) . " $argv[0]: $!\n";
    exit 127;
}

if ($number{enter}[0]) {
    my $cwd = readlink('/proc/self/cwd') // '/';
    enter($pids ? $NEW_PIDS : 0);
    adopt($_) for @adopt;
    hide();
    chdir $cwd or fail("$cwd: $!");  # the old one leads to what is hidden
    become_outside() if $pids;
    enter(0);  # in it the mounts of the first namespace are locked
}
restrict();
become_first() if $pids;
become();

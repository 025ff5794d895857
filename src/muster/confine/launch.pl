# The launcher in Perl: confines itself by a plan, then becomes the command.
#
#     perl launch.pl PLAN [--network] [--sockets] [--file PATH] [--folder PATH] [--parent PATH]...
#         -- COMMAND...
#
# The same as launch.py, in a tenth of its time: it loads no module. Every failure ends it with a
# message and exit code 126: a command never runs unconfined.

my ($O_WRONLY, $O_CREAT, $O_CLOEXEC, $O_PATH) = (1, 0100, 02000000, 010000000);

sub fail { syswrite STDERR, "muster confine: $_[0]\n"; exit($_[1] || 126) }

sub text { $_[0] eq '-' ? '' : pack 'H*', $_[0] }

sub call {
    my $what = shift;
    my $result = syscall($_[0], @_[1 .. $#_]);
    fail("$what: $!") if $result < 0;
    return $result;
}

my $path = shift @ARGV;
open(my $file, '<', $path) or fail("the plan cannot be read: $!");
my (%number, @allow, @device, %filter);
<$file> =~ /^muster-confine 6 / or fail('the plan cannot be read');
while (<$file>) {
    chomp;
    my ($word, @rest) = split / /;
    if ($word eq 'allow') { push @allow, [$rest[0] + 0, text($rest[1]), $O_PATH] }
    elsif ($word eq 'device') { push @device, [$rest[0] + 0, text($rest[1])] }
    elsif ($word eq 'set') { $ENV{text($rest[0])} = text($rest[1]) }
    elsif ($word =~ /^(filter|offline|apart)$/) { $filter{$word} = pack 'H*', $rest[0] // '' }
    else { $number{$word} = [map { $_ + 0 } @rest] }
}
close $file;
if ($path =~ m{^/proc/self/fd/(\d+)$}) { open(my $inherited, '<&=', $1); close $inherited }
keys %filter == 3 && $number{calls} && $number{drop} && $number{handle} && $number{size}
    or fail('the plan is incomplete');

my ($network, $sockets) = (0, 0);
while (@ARGV && $ARGV[0] ne '--') {
    my $option = shift @ARGV;
    if ($option eq '--network') { $network = 1 }
    elsif ($option eq '--sockets') { $sockets = 1 }
    elsif ($option =~ /^--(folder|parent)$/ && @ARGV) {
        push @allow, [$number{$1}[0], shift @ARGV, $O_PATH];
    }
    elsif ($option eq '--file' && @ARGV) {
        push @allow, [$number{file}[0], shift @ARGV, $O_WRONLY | $O_CREAT];
    }
    else { fail("the option $option is not known") }
}
shift @ARGV;
@ARGV or fail('there is no command');

my ($prctl, $seccomp, $create, $add, $restrict) = @{$number{calls}};
my ($handled, $ports, $scopes) = @{$number{handle}};
my $size = $number{size}[0];
my $attributes = substr pack('QQQ', $handled, $network ? 0 : $ports, $scopes), 0, $size;
my $rules = call('Landlock', $create, $attributes, $size, 0);

for (@allow) {
    my ($rights, $where, $how) = @$_;
    sysopen(my $place, $where, $how | $O_CLOEXEC, 0666) or fail("$where: $!");
    my $rule = pack 'Ql', $rights, fileno $place;
    call('Landlock', $add, $rules, 1, $rule, 0);
}
for (@device) {
    my ($rights, $where) = @$_;
    sysopen(my $place, $where, $O_PATH | $O_CLOEXEC) or next;  # not every machine has every device
    my $rule = pack 'Ql', $rights, fileno $place;
    syscall($add, $rules, 1, $rule, 0);  # a pipe takes no rule, and needs none
}
syscall($prctl, 24, $_, 0, 0, 0) for @{$number{drop}};  # who is not root has nothing to lose
syscall($prctl, 47, 4, 0, 0, 0);  # ambient capabilities
call('no new privileges', $prctl, 38, 1, 0, 0, 0);
call('Landlock', $restrict, $rules, 0);
for ('filter', $network ? () : 'offline', $sockets ? () : 'apart') {
    next unless length $filter{$_};
    my $code = pack 'Sx6P', length($filter{$_}) / 8, $filter{$_};
    call('seccomp', $seccomp, 1, 0, $code);
}
$SIG{PIPE} = $SIG{XFSZ} = 'DEFAULT';  # a muster that starts this ignores them, as Python does
exec { $ARGV[0] } @ARGV;
fail("$ARGV[0]: $!", 127);

# Checks the module: perl test.pl STORE VECTORS. Prints "ok".
use strict;
use warnings;
use Config;
use FindBin;
use lib $FindBin::Bin;
use Snowfence;
use Storable;
use Time::HiRes;

my ($store, $vectors) = @ARGV;

sub expect {
	my ($text, $call) = @_;
	die "nothing died about $text\n" if eval { $call->(); 1 };
	die $@ if $@ !~ /$text/;
}

open my $in, '<', $vectors or die $!;
while (<$in>) {
	chomp;
	my ($layout, $id, %want) = (split /\t/)[0, 1];
	@want{qw(tick node sequence rollback scatter tag)} = (split /\t/)[2 .. 7];
	my $p = Snowfence->decode($id, $layout);
	for (keys %want) {
		die "$layout $id: $_ is $p->{$_}\n" if $want{$_} ne '-' && $want{$_} ne $p->{$_};
	}
}
die 'base58' if Snowfence->parse(Snowfence->format(1 << 62, 'base58'), 'base58') != 1 << 62;
expect('leed', sub { Snowfence->open('mem:', undef, 'leed=1') });
expect('xyz', sub { Snowfence->parse('xyz') });
expect('zero', sub { Snowfence->parse("7\0x") });
expect('zero', sub { Snowfence->open_static(1, "default\0x") });

my $ids = Snowfence->open($store, undef, 'label=perl,lead=2000');
my ($last, %made) = (0);
for my $i (0 .. 49999) {
	for my $id ($i % 1000 ? $ids->next : $ids->take($i / 1000 % 7)) {
		die 'the IDs do not increase' if $id <= $last;
		$made{$last = $id} = 1;
	}
}
die 'IDs' if keys %made < 49000 || $ids->decode($last)->{node} != $ids->decode((keys %made)[0])->{node};

# A signal handler that makes IDs came between the look at a batch and its use.
my (@own, @in);
local $SIG{ALRM} = sub { push @in, $ids->next };
Time::HiRes::setitimer(Time::HiRes::ITIMER_REAL(), 0.0005, 0.0005);
push @own, $ids->next while @in < 300 || @own < 50000;
Time::HiRes::setitimer(Time::HiRes::ITIMER_REAL(), 0);
my %both;
@both{@own, @in} = ();
die 'an ID came twice beside a signal handler' if keys %both != @own + @in;
$own[$_] > $own[$_ - 1] or die 'the IDs do not increase beside a signal handler' for 1 .. $#own;
$last = $own[-1];

# A copy, also that of a new thread, had the same IDs as its original.
expect('cannot be copied', sub { Storable::dclone($ids) });
if ($Config{useithreads}) {
	require threads;
	my $got = threads->create(sub { ref $ids eq 'Snowfence' && eval { $ids->next } || 'none' })->join;
	die "a thread has the generator: $got" if $got ne 'none';
}

# What nobody uses any more is closed.
my $number = Snowfence->open_static(9);
expect('9', sub { Snowfence->open_static(9) });
undef $number;
Snowfence->open_static(9)->close;

$ids->next; # so that some are left
my $pid = fork;
if ($pid == 0) {
	expect('forked', sub { $ids->next });
	expect('forked', sub { $ids->take(1) });
	expect('forked', sub { Snowfence->open($store) });
	exit 7;
}
waitpid $pid, 0;
die 'the child' if $? >> 8 != 7;
die 'the child closed the generator of its parent' if $ids->next <= $last;
$ids->close;
$ids->close;
expect('closed', sub { $ids->next }) for 1 .. 20;
expect('closed', sub { $ids->take(1) });
print "ok\n";

package Snowfence;

# 64-bit IDs that never repeat within a namespace of a store, made in your process by the C library, with FFI::Platypus.
#
#	my $ids = Snowfence->open('sqlite:/var/lib/shop/ids.db');
#	my $order = $ids->next;
#
# A process that was forked after an open cannot use the library: open in the child.

use strict;
use warnings;
use FFI::Platypus 1.00;

my $ffi = FFI::Platypus->new(api => 1, lib => $ENV{SNOWFENCE_LIBRARY} || 'libsnowfence.so.1');
$ffi->attach([snowfence_abi_version => '_abi'] => [] => 'int');
$ffi->attach([snowfence_last_error => '_last_error'] => ['opaque', 'size_t'] => 'size_t');
$ffi->attach([snowfence_open => '_open'] => ['string', 'string', 'string', 'uint64*'] => 'int');
$ffi->attach([snowfence_open_statefile => '_statefile'] => ['string', 'string', 'sint64', 'string', 'uint64*'] => 'int');
$ffi->attach([snowfence_take => '_take'] => ['uint64', 'opaque', 'size_t', 'size_t*'] => 'int');
$ffi->attach([snowfence_fill => '_fill'] => ['uint64', 'opaque', 'size_t', 'size_t*'] => 'int');
$ffi->attach([snowfence_beat => '_beat'] => ['uint64', 'opaque*'] => 'int');
$ffi->attach([snowfence_close => '_close'] => ['uint64'] => 'int');
$ffi->attach([snowfence_open_static => '_static'] => ['string', 'sint64', 'string', 'uint64*'] => 'int');
$ffi->attach([snowfence_decode => '_decode'] => ['string', 'sint64', 'opaque'] => 'int');
$ffi->attach([snowfence_decode_own => '_decode_own'] => ['uint64', 'sint64', 'opaque'] => 'int');
$ffi->attach([snowfence_format => '_format'] => ['sint64', 'string', 'opaque', 'size_t', 'size_t*'] => 'int');
$ffi->attach([snowfence_parse => '_parse'] => ['string', 'string', 'sint64*'] => 'int');

my ($LEAST, $MOST) = (16, 1024);

die "libsnowfence has another ABI version than this module, which is for 1\n" if _abi() != 1;

# Dies with what happened, to what, and what to do.
sub _check {
	my ($status) = @_;
	return if $status == 0;
	my $text = "\0" x 1024;
	_last_error(_address($text), length $text);
	die sprintf("snowfence: %s (status %d)\n", unpack('Z*', $text), $status);
}

sub _new {
	my ($class, $handle) = @_;
	my $beat;
	_check(_beat($handle, \$beat));
	return bless {handle => $handle, beat => $beat, seen => '', size => $LEAST, ids => []}, $class;
}

# Leases a node from a store; undef is the store of this machine. Options are text such as "lead=2000".
sub open {
	my ($class, $store, $namespace, $options) = @_;
	my $handle;
	_check(_open($store, $namespace, $options, \$handle));
	return $class->_new($handle);
}

# Makes IDs of one node, whose use a file remembers over restarts.
sub open_statefile {
	my ($class, $path, $node, $layout, $options) = @_;
	my $handle;
	_check(_statefile($path, $layout, $node, $options, \$handle));
	return $class->_new($handle);
}

# Makes IDs of a bare number. It is safe inside this process only.
sub open_static {
	my ($class, $node, $layout, $options) = @_;
	my $handle;
	_check(_static($layout, $node, $options, \$handle));
	return $class->_new($handle);
}

# The address of a text, which the library writes to.
sub _address { return unpack('Q', pack('P', $_[0])) }

sub _call {
	my ($self, $call, $n) = @_;
	my ($buf, $made) = ("\0" x (8 * $n), 0);
	_check($call->($self->{handle}, _address($buf), $n, \$made));
	return unpack("q$made", $buf);
}

# The beat, 8 bytes in the memory of the library.
sub _beat_now { return unpack('P8', pack('Q', $_[0]{beat})) }

# Makes an ID.
sub next {
	my ($self) = @_;
	my $beat = $self->_beat_now;
	if ($beat eq $self->{seen}) {
		my $id = shift @{$self->{ids}}; # one step, between which and the look a signal handler can come
		return $id if defined $id;
	}
	my $left = @{$self->{ids}};
	my $round = ++$self->{rounds};
	if (!$left && $beat eq $self->{seen}) {
		$self->{size} *= 2 if $self->{size} < $MOST;
	} elsif ($left > $self->{size} / 2) {
		$self->{size} /= 2 if $self->{size} > $LEAST;
	}
	my @made = $self->_call(\&_take, $self->{size});
	my $first = shift @made;
	@made = () if $round != $self->{rounds}; # a signal handler has taken others meanwhile
	$self->{ids} = \@made;
	$self->{seen} = $beat; # the beat before the IDs were made
	return $first;
}

# Makes n IDs, in increasing order, the first of them from those that next took ahead.
sub take {
	my ($self, $n) = @_;
	my @ids = $self->_beat_now eq $self->{seen} ? splice(@{$self->{ids}}, 0, $n) : ();
	if (@ids < $n) {
		push @ids, $self->_call(\&_fill, $n - @ids);
		$self->{ids} = []; # a signal handler may have taken lower ones
	}
	return @ids;
}

sub _parts {
	my ($call, @args) = @_;
	my $buf = "\0" x 56;
	_check($call->(@args, _address($buf)));
	my %parts;
	@parts{qw(tick seconds nanoseconds node sequence rollback key)} = unpack('q7', $buf);
	return \%parts;
}

# Takes an ID apart: tick, seconds, nanoseconds, node, sequence, rollback, key. Of an object, with its secrets.
sub decode {
	my ($self, $id, $layout) = @_;
	return ref $self ? _parts(\&_decode_own, $self->{handle}, $id) : _parts(\&_decode, $layout, $id);
}

# Writes an ID as text, such as "base58"; undef is decimal.
sub format {
	my ($class, $id, $encoding) = @_;
	my ($buf, $length) = ("\0" x 80, 0);
	_check(_format($id, $encoding, _address($buf), length $buf, \$length));
	return substr($buf, 0, $length);
}

# Reads the text of an ID.
sub parse {
	my ($class, $text, $encoding) = @_;
	my $id = 0;
	_check(_parse($text, $encoding, \$id));
	return $id;
}

# Ends the generator and gives its node back. A second call does nothing.
sub close {
	my ($self) = @_;
	_check(_close($self->{handle})) if !$self->{closed}++;
}

# A copy would make the same IDs as its original: a new thread of Perl has none, and Storable refuses.
sub CLONE_SKIP { return 1 }
sub STORABLE_freeze { die "snowfence: a generator cannot be copied: open one in each process and thread\n" }

sub DESTROY {
	my ($self) = @_;
	local $@;
	eval { $self->close }; # the node is free when its lease ends; close tells
}

1;

# A client in Perl's own modules, after docs/reference/specification.md and nothing else, and its adapter for
# lab/conform. One process does everything, so a renewal and an ID never meet.
use strict;
use warnings;
use HTTP::Tiny;
use IO::Select;
use JSON::PP;
use MIME::Base64 qw(decode_base64);
use Time::HiRes qw(time sleep);
use Time::Local qw(timegm_modern);

my $http = HTTP::Tiny->new(max_redirect => 0, timeout => 2);
my ($server, $namespace, $asked) = @ENV{qw(SNOWFENCE_SERVER SNOWFENCE_NAMESPACE SNOWFENCE_TTL)};
my (%grant, %layout);    # nothing in grant without a lease
my ($node, $tick, $seq) = (-1, -1, 0);    # of the last ID
my @unanswered;                           # attempts with the present ticket, or to acquire
my ($lost, $free, $moved, $copied, $due, $trouble) = (undef, 0, 0, 0, 0, '');

sub micros { int(time * 1e6) }

# Microseconds of a duration, such as 1h0m5s or 1.5ms.
sub duration {
    my %unit = (h => 3600e6, m => 60e6, s => 1e6, ms => 1e3, us => 1);
    my $sum = 0;
    $sum += $1 * $unit{$2} while $_[0] =~ /([\d.]+)(ms|us|h|m|s)/g;
    return $sum;
}

# Reads a canonical spec.
sub layout {
    my %l = (fields => [], first => 0, tick => 1000);
    for my $pair (split /,/, $_[0]) {
        my ($key, $value) = split /=/, $pair, 2;
        if ($key eq 'epoch') {
            my ($y, $mon, $d, $h, $min, $s, $part) = $value =~ /^(\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)(\.\d+)?Z$/ or die;
            $l{epoch} = timegm_modern($s, $min, $h, $d, $mon - 1, $y) * 1000000 + sprintf('%.0f', 1e6 * ($part // 0));
        }
        elsif ($key eq 'tick') { $l{tick} = duration($value) }
        elsif ($key =~ /^(first|last)$/) { $l{$key} = $value }
        elsif ($key eq 'cipher') { die "an encrypted namespace\n" }
        else { push @{ $l{fields} }, [$key, $value]; $l{bits}{$key} = $value }
    }
    $l{last} //= (1 << ($l{bits}{seq} // 0)) - 1;
    return %l;
}

sub compose {
    my ($t, $n, $s) = @_;
    my ($id, $below) = (0, 0);
    for my $field (reverse @{ $layout{fields} }) {
        my ($name, $bits) = @$field;
        my $value = $name eq 'time' ? $t : $name eq 'seq' ? $s : $name =~ /^(rollback|scatter|tag)$/ ? 0 : $n & ((1 << $bits) - 1);
        $n >>= $bits if $name !~ /^(time|seq|rollback|scatter|tag)$/;
        die "tick $t is beyond the layout\n" if $value >= 1 << $bits;
        $id |= $value << $below;
        $below += $bits;
    }
    return unpack 'q', pack 'Q', $id;
}

# The function next of the page.
sub stamp {
    return unless %grant;
    my $now = int((micros() - $layout{epoch}) / $layout{tick});
    my ($t, $s) = ($tick, $seq + 1);
    ($t, $s) = ($t + 1, $layout{first}) if $s > $layout{last};
    my $begin = $now > $grant{from} ? $now : $grant{from};
    ($t, $s) = ($begin, $layout{first}) if $begin > $t;
    return if $t >= $grant{until} || $t > $now;
    ($tick, $seq) = ($t, $s);
    return compose($t, $node, $s);
}

# Calls LeaseService, and returns the status and the answer; 0 if it is none.
sub call {
    my ($method, %body) = @_;
    my $res = $http->post("$server/snowfence.v1.LeaseService/$method",
        { content => encode_json(\%body), headers => { 'Content-Type' => 'application/json' } });
    my $answer = eval { decode_json($res->{content}) };
    $trouble = "$method: $res->{status} " . ($answer && $answer->{message} // '');
    return ($res->{status} == 200 && !$answer ? 0 : $res->{status}, $answer);
}

sub attempt {
    open my $random, '<:raw', '/dev/urandom' or die;
    read $random, my $bytes, 9;
    return sprintf '%s%x', unpack('H*', $bytes), micros();
}

# Acquires or renews once, and sets when to do it again.
sub keep {
    my $attempt = attempt();
    my %ask = (attempt => $attempt, earlier => [@unanswered]);
    push @unanswered, $attempt;
    shift @unanswered if @unanswered > 64;
    my ($status, $a);
    if (%grant && !$moved) {
        ($status, $a) = call('Renew', %ask, ticket => $grant{ticket});
    }
    else {
        $ask{ttl} = duration($asked) / 1e6 . 's' if $asked;
        $ask{lost} = $lost if $lost;
        $ask{free} = JSON::PP::true if $free;
        $copied = @unanswered > 1;    # a copy may have an earlier answer
        ($status, $a) = call('Acquire', %ask, namespace => $namespace, label => "perl $$");
    }
    $due = micros() + 200000;
    my @reasons = map { decode_base64($_->{value} // '') } @{ $a->{details} // [] };
    if ($status == 200 && $a->{ticket}) {
        my $was = %grant ? $node : -1;
        %layout = layout($a->{layout});
        ($tick, $seq) = (-1, $layout{last}) if $node != ($a->{node} // 0);
        $node  = $a->{node} // 0;
        %grant = (from => $a->{from} // 0, until => $a->{until} // 0, ticket => $a->{ticket});
        @unanswered = ();
        ($lost, $free, $moved) = (undef, 0, 0);
        $due = micros() + duration($a->{renew_after});
    }
    elsif ($status == 400 && @reasons || $status == 503 && grep { /elsewhere/ } @reasons) {
        ($moved, $due, @unanswered) = (1, 0);    # the grant goes on to its end
    }
    elsif (%grant && !$moved && @reasons && ($status == 404 || $status == 409)) {
        ($lost, $free, $due) = ($grant{ticket}, 1, 0);
        %grant = @unanswered = ();
    }
}

$| = 1;
my ($input, $text) = (IO::Select->new(\*STDIN), '');
while (1) {
    keep() if micros() >= $due;
    my $wait = ($due - micros()) / 1e6;
    next unless $input->can_read($wait > 0 ? $wait : 0);
    sysread(STDIN, $text, 4096, length $text) or last;
    while ($text =~ s/^(.*)\n//) {
        goto END if $1 eq 'close';
        my $id;
        for (1 .. 100) { last if defined($id = stamp()); sleep 0.005 }
        print defined $id ? "$id\n" : "error there is no ID now: " . $trouble =~ s/\s+/ /gr . "\n";
    }
}
END:
if (%grant) {
    my $used = $tick + 1 > $grant{from} ? $tick + 1 : $grant{from};
    call('Release', ticket => $grant{ticket}, $copied ? () : (used => "$used"));
}
print "closed\n";

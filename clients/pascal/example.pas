{ Prints IDs: fpc -O2 example.pas && ./example STORE N }
program example;

{$mode objfpc}{$H+}

uses
  cthreads, SysUtils, snowfence;

var
  IDs: TSnowfence;
  Ring: TSnowfenceRing;
  N: Int64;
begin
  IDs := TSnowfence.Open(ParamStr(1), '', 'label=pascal-example');
  Ring := TSnowfenceRing.Create(IDs);
  for N := 1 to StrToInt64(ParamStr(2)) do
    WriteLn(Ring.Next);
  Ring.Free;
  IDs.Free;
end.
